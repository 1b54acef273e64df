package settings

import (
	"strings"
	"testing"
)

const twoProviders = `version: 1
public_url: https://paddock.example.org
providers:
  - {name: example, kind: oidc, issuer: "https://accounts.example.org", client_id: paddock, client_secret_file: /etc/paddock/example, agents: true}
  - name: hub
    kind: github
    issuer: http://hub.internal:8080
    client_id: x
    client_secret_file: /etc/paddock/hub
    inside: [hub.internal:8080]
`

func TestProviders(t *testing.T) {
	s, faults := read(twoProviders, nil, nil)
	if faults != "" || len(s.Providers) != 2 || !s.Providers[0].Agents || s.Providers[1].Agents {
		t.Fatalf("%+v\n%s", s, faults)
	}
	if p := s.Providers[0]; p.Name != "example" || p.Kind != "oidc" || p.Issuer != "https://accounts.example.org" || p.ClientID != "paddock" || p.SecretFile != "/etc/paddock/example" || p.Inside != nil {
		t.Errorf("%+v", p)
	}
	if p := s.Providers[1]; p.Kind != "github" || len(p.Inside) != 1 || p.Inside[0] != "hub.internal:8080" {
		t.Errorf("%+v", p)
	}
}

// Each thing that is wrong with a provider is said at its place.
func TestProviderFaults(t *testing.T) {
	begin := "version: 1\npublic_url: https://a.example\nproviders:\n"
	for text, want := range map[string]string{
		"- {name: Example, kind: github, client_id: x, client_secret_file: /s}":                                                            "4:10: name is",
		"- {name: a, kind: saml, client_id: x, client_secret_file: /s}":                                                                    "4:19",
		"- {name: a, kind: github, client_id: x, client_secret_file: s}":                                                                   "an absolute path",
		"- {name: a, kind: github, client_id: \"\", client_secret_file: /s}":                                                               "client_id",
		"- {name: a, kind: github, client_secret_file: /s}":                                                                                "client_id",
		"- {name: a, kind: oidc, client_id: x, client_secret_file: /s}":                                                                    "needs an issuer",
		"- {name: a, kind: oidc, issuer: \"http://b.example\", client_id: x, client_secret_file: /s}":                                      "it must be https",
		"- {name: a, kind: oidc, issuer: \"https://u:p@b.example\", client_id: x, client_secret_file: /s}":                                 "is wanted",
		"- {name: a, kind: github, client_id: x, client_secret_file: /s, inside: [b]}":                                                     "no place inside",
		"- {name: a, kind: github, client_id: x, client_secret_file: /s, client_secret: shown}":                                            "client_secret",
		"- {name: a, kind: github, client_id: x, client_secret_file: /s}\n- {name: a, kind: github, client_id: x, client_secret_file: /s}": "5:10: There is another",
		"- {name: a, kind: github, client_id: x, client_secret_file: /s, agents: true}":                                                    "no access tokens that could be checked",
		"- {name: a, kind: oidc, issuer: \"https://b.example\", client_id: x, client_secret_file: /s, agents: yes}":                        "want true or false",
		"- {name: a, kind: oidc, issuer: \"https://b.example\", client_id: x, client_secret_file: /s, agents: true}\n- {name: b, kind: oidc, issuer: \"https://b.example\", client_id: x, client_secret_file: /s, agents: true}": "another provider of the same issuer",
		"- a": "4:3",
	} {
		if _, faults := read(begin+text+"\n", nil, nil); !strings.Contains(faults, want) {
			t.Errorf("%s\nwant %q in:\n%s", text, want, faults)
		}
	}
	if _, faults := read(strings.Replace(twoProviders, "public_url: https://paddock.example.org\n", "", 1), nil, nil); !strings.Contains(faults, "public_url") {
		t.Errorf("without public_url: %s", faults)
	}
}
