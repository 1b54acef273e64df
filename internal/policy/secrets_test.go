package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/known/secret"
)

const entrusted = `version: 1
roots: [{path: /srv/checkout}]
executables:
  - {name: go, path: /usr/bin/go, args: any, network: ["*.example.org:443", "[2001:db8::1]:8443"]}
  - {name: make, path: /usr/bin/make, args: any, network: [other.example:443, "192.0.2.7:443"]}
environment: {accept: {CI: <word>}}
secrets:
  OPENAI: {file: /run/secrets/oai, inject: {host: api.example.org, header: Authorization, prefix: "Bearer "}}
  SIX: {file: /run/secrets/six, inject: {host: "[2001:db8::1]:8443", header: X-Key, ca: /etc/six.pem}}
  FOUR: {file: /run/secrets/four, inject: {host: 192.0.2.7, header: X-Key}}
containment: {network: allowlist}
`

var (
	openai = paddock.Injection{Secret: "OPENAI", Place: "api.example.org:443", Header: "Authorization", Prefix: "Bearer ", File: "/run/secrets/oai"}
	six    = paddock.Injection{Secret: "SIX", Place: "[2001:db8::1]:8443", Header: "X-Key", File: "/run/secrets/six", CA: "/etc/six.pem"}
	four   = paddock.Injection{Secret: "FOUR", Place: "192.0.2.7:443", Header: "X-Key", File: "/run/secrets/four"}
)

// found is what is known of the secrets of entrusted when all is well.
func found(f *policy.Facts) {
	f.Levels = []paddock.Level{paddock.Full}
	f.Secrets = map[string]secret.Facts{
		"OPENAI": {Found: true, Trimmed: true, Digests: secret.Digests("Bearer ", "hunter22")},
		"SIX":    {Found: true, Digests: secret.Digests("", "hunter66")},
		"FOUR":   {Found: true, Digests: secret.Digests("", "hunter44")},
	}
}

// A program uses the secrets of the hosts that it may reach, and is told what to
// trust.
func TestSecretsAreGrantedByHost(t *testing.T) {
	t.Parallel()
	p := load(t, entrusted)
	if diff := cmp.Diff([]paddock.Injection{openai, six, four}, p.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	for word, want := range map[string][]paddock.Injection{"go": {openai, six}, "make": {four}} {
		req := ask(word)
		facts := friendly(p, req)
		found(&facts)
		if wanted := p.Wanted(req).Secrets; len(wanted) != 3 {
			t.Errorf("%s: wanted %v", word, wanted)
		}
		d := policy.Decide(p, req, facts)
		if d.Effect != paddock.Allow {
			t.Fatalf("%s: %v", word, d.Refusal())
		}
		if diff := cmp.Diff(want, d.Grant().Contain.Inject); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
		if !slices.Contains(d.Grant().Environment, "SSL_CERT_FILE="+paddock.CertificatesPath) {
			t.Errorf("%s gets %q", word, d.Grant().Environment)
		}
		gate, _ := d.Gates.Of(paddock.GateContainment)
		detail := gate.Detail
		if !strings.Contains(detail, "requests to "+want[0].Place+" carry "+want[0].Secret) || strings.Contains(detail, "end of OPENAI") != (word == "go") {
			t.Errorf("%s: the gate says %q", word, detail)
		}
	}
}

// The value of any secret is found in a variable, whoever uses it.
func TestSecretValuesAreRefused(t *testing.T) {
	holding := func(value string) func(*paddock.Request) {
		return func(r *paddock.Request) {
			*r = ask("make")
			r.Command.Env = map[string]string{"CI": value}
		}
	}
	refused(t, paddock.SecretInEnvironment, paddock.GateEnvironment,
		refusalCase{name: "of a secret", policy: entrusted, change: holding("hunter22"), facts: found, line: 7, want: "CI, which has the value of the secret OPENAI."},
		refusalCase{name: "of its header", policy: strings.Replace(entrusted, "<word>", "<re:.*>", 1), change: holding("Bearer hunter22"), facts: found, line: 7, want: "CI, which has the value"},
	)
}

// What nobody could use, or everybody could see, isn't a policy.
func TestSecretFaults(t *testing.T) {
	t.Parallel()
	with := func(secrets, rest string) string {
		return "version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /x, args: any, network: [\"*.a.org:443\", b.org:8443]}]\nsecrets: {" + secrets + "}\n" + rest + "containment: {network: allowlist, read: [/data]}\n"
	}
	one := func(file, inject string) string { return fmt.Sprintf("A: {file: %s, inject: {%s}}", file, inject) }
	const host = "host: x.a.org, header: X"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {with("A: {}", ""), "4:14: want exactly one of `file`, `exec`"},
		"no header":         {with(one("/s", "host: x.a.org"), ""), "`header` is missing"},
		"a name":            {with("a-b: {file: /s, inject: {"+host+"}}", ""), "4:11: want a variable's name"},
		"for nobody":        {with("A: {file: /s, env_for: [x]}", ""), "4:35: no executable is called `x`"},
		"by half a word":    {with("A: {file: /s, env_for: [/]}", ""), "no executable is called `/`"},
		"for one twice":     {with("A: {file: /s, env_for: [/x, /x]}", ""), "this program is listed before"},
		"of no use":         {with("A: {file: /s}", ""), "4:14: nothing uses this secret"},
		"an empty list":     {with("A: {file: /s, env_for: []}", ""), "want a list of at least one item"},
		"given in a root":   {with("A: {file: /srv/s, env_for: [/x]}", ""), "lies inside /srv"},
		"set, too":          {with("A: {file: /s, env_for: [/x]}", "environment: {set: {A: b}}\n"), "4:35: `environment` has the variable `A`"},
		"passed, too":       {with("A: {file: /s, env_for: [/x]}", "environment: {pass: [A]}\n"), "`environment` has the variable `A`"},
		"accepted, too":     {with("A: {file: /s, env_for: [/x]}", "environment: {accept: {A: <word>}}\n"), "`environment` has the variable `A`"},
		"redact: never":     {with("", "redact: never\n"), "want `shown` or `stored`"},
		"redact of a type":  {with("", "redact: [stored]\n"), "want `shown` or `stored`"},
		"relative":          {with(one("s", host), ""), "want an absolute path"},
		"unclean":           {with(one("/s/../t", host), ""), "write this path as /t"},
		"in a root":         {with(one("/srv/s", host), ""), "lies inside /srv"},
		"in what is read":   {with(one("/data", host), ""), "lies inside /data"},
		"not listed":        {with(one("/s", "host: a.org, header: X"), ""), "4:40: no executable's `network` lists `a.org:443`"},
		"another port":      {with(one("/s", "host: b.org, header: X"), ""), "no executable's `network` lists `b.org:443`"},
		"upper case":        {with(one("/s", "host: X.a.org, header: X"), ""), "want a host in lower case"},
		"a port too large":  {with(one("/s", `host: "b.org:99999", header: X`), ""), "a port is a number"},
		"localhost":         {with(one("/s", "host: localhost, header: X"), ""), "localhost is this machine"},
		"a suffix":          {with(one("/s", `host: "*.a.org", header: X`), ""), "want a host in lower case"},
		"two for one":       {with(one("/s", host)+", B: {file: /s, inject: {"+host+"}}", ""), "`A` goes to this host already"},
		"Host":              {with(one("/s", "host: x.a.org, header: Host"), ""), "says how a request is sent"},
		"transfer-encoding": {with(one("/s", "host: x.a.org, header: transfer-encoding"), ""), "says how a request is sent"},
		"not a header":      {with(one("/s", `host: x.a.org, header: "X:"`), ""), "want the name of a header"},
		"a prefix":          {with(one("/s", host+`, prefix: "a\nb"`), ""), "want 1 to 64 letters"},
		"no allowlist":      {strings.Replace(with(one("/s", host), ""), "allowlist", "none", 1), "4:1: only a run's proxy"},
		"at standard":       {strings.Replace(with(one("/s", host), ""), "allowlist", "allowlist, require: standard", 1), "needs `require: full`"},
		"certificates":      {with(one("/s", host), "environment: {set: {SSL_CERT_FILE: /x}}\n"), "5:21: `SSL_CERT_FILE` leads to the run's own certificates"},
	} {
		_, err := policy.Load("p.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, c.text)
		}
	}
	load(t, with(one("/s", host)+`, B: {file: /s, inject: {host: "b.org:8443", header: X, prefix: "token "}}`, ""))
	load(t, strings.Replace(with("", ""), "secrets: {}", "environment: {set: {SSL_CERT_FILE: /x}}", 1))
}

const variables = `version: 1
roots: [{path: /srv/checkout}]
executables:
  - {name: gh, path: /usr/bin/gh, args: any}
  - {name: go, path: /usr/bin/go, args: any}
  - {path: /usr/bin/make, args: any}
git: {executable: /usr/bin/git}
environment: {accept: {CI: <word>}}
secrets:
  GH_TOKEN: {file: /run/secrets/gh, env_for: [gh, /usr/bin/make]}
  OTHER: {file: /run/secrets/other, env_for: [/usr/bin/make]}
`

func given(f *policy.Facts) {
	f.Levels = []paddock.Level{paddock.Full}
	f.Secrets = map[string]secret.Facts{
		"GH_TOKEN": {Found: true, Trimmed: true, Digests: secret.Digests("", "hunter22")},
		"OTHER":    {Found: true, Digests: secret.Digests("", "hunter44")},
	}
}

// Secrets are given by the program's word, are named in the grant, and their values
// are nowhere in it.
func TestSecretsAreGrantedAsVariables(t *testing.T) {
	t.Parallel()
	for _, redact := range []string{"", "redact: shown\n", "redact: stored\n"} {
		p := load(t, variables+redact)
		for word, want := range map[string][]string{"gh": {"GH_TOKEN"}, "/usr/bin/make": {"GH_TOKEN", "OTHER"}, "go": nil} {
			req := ask(word)
			facts := friendly(p, req)
			given(&facts)
			if wanted := p.Wanted(req).Given; len(wanted) != 2 {
				t.Errorf("%s: wanted %v", word, wanted)
			}
			d := policy.Decide(p, req, facts)
			if d.Effect != paddock.Allow {
				t.Fatalf("%s: %v", word, d.Refusal())
			}
			if diff := cmp.Diff(want, d.Grant().Secrets); diff != "" {
				t.Errorf("%s (-want +got):\n%s", word, diff)
			}
			for _, name := range []string{"GH_TOKEN", "OTHER"} {
				if slices.Contains(d.Grant().EnvironmentNames, name) != slices.Contains(want, name) {
					t.Errorf("%s: the names are %q", word, d.Grant().EnvironmentNames)
				}
			}
			if strings.Contains(strings.Join(d.Grant().Environment, " "), "GH_TOKEN") || !slices.IsSorted(d.Grant().EnvironmentNames) {
				t.Errorf("%s: %q, %q", word, d.Grant().Environment, d.Grant().EnvironmentNames)
			}
			if stored := redact == "redact: stored\n"; (d.Grant().Redact == paddock.RedactStored) != stored {
				t.Errorf("%q is %q", redact, d.Grant().Redact)
			}
		}
	}
}

// What git prints is looked at for secrets, and git gets none.
func TestGitGetsNoSecrets(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(strings.Replace(variables, "name: go,", "name: git,", 1), "[gh,", "[gh, git,", 1))
	req := ask("git", "status")
	req.Room = "git"
	facts := friendly(p, req)
	given(&facts)
	if wanted := p.For("git").Wanted(req); len(wanted.Given) != 2 || wanted.Given[0].To != nil {
		t.Errorf("wanted %v", wanted.Given)
	}
	if d := policy.Decide(p.For("git"), req, facts); d.Grant() == nil || d.Grant().Secrets != nil {
		t.Errorf("%+v", d.Refusal())
	}
	if len(p.Given()[0].To) != 3 {
		t.Error("the policy's own list was changed")
	}
}

func TestSecretsThatCannotBeGiven(t *testing.T) {
	for name, c := range map[string]struct {
		facts secret.Facts
		want  string
	}{
		"not looked at": {secret.Facts{}, "GH_TOKEN can't be used: nobody has looked at it."},
		"a problem":     {secret.Facts{Problem: "there is no file /x"}, "GH_TOKEN can't be used: there is no file /x."},
		"short":         {secret.Facts{Found: true, Short: true}, "fewer than 8 bytes"},
	} {
		refused(t, paddock.SecretUnavailable, paddock.GateContainment, refusalCase{
			name: name, policy: variables, change: func(r *paddock.Request) { *r = ask("gh") }, line: 9, want: c.want,
			facts: func(f *policy.Facts) {
				given(f)
				f.Secrets["GH_TOKEN"] = c.facts
			},
		})
	}
	refused(t, paddock.SecretInEnvironment, paddock.GateEnvironment, refusalCase{
		name: "set by a host", policy: strings.ReplaceAll(variables, "GH_TOKEN", "GH"), line: 9, want: "The program gets GH from the policy's secrets",
		change: func(r *paddock.Request) {
			*r = ask("gh")
			r.Door, r.Command.ReplaceEnv = paddock.DoorGo, map[string]string{"GH": "x"}
		},
		facts: func(f *policy.Facts) {
			given(f)
			f.Secrets["GH"] = f.Secrets["GH_TOKEN"]
		},
	})
}
