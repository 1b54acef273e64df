package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/policy"
)

const proxied = `version: 1
roots: [{path: /srv}]
executables:
  - {name: go, path: /usr/bin/go, args: any, network: [modules.example.org:443, "*.sums.example.org:443"]}
  - {name: make, path: /usr/bin/make, args: any}
containment: {network: allowlist}
`

// What a run may reach is what its own executable lists, and its variables lead
// to the proxy.
func TestAnAllowlistIsGranted(t *testing.T) {
	t.Parallel()
	p := load(t, proxied)
	for word, reach := range map[string][]string{"go": {"modules.example.org:443", "*.sums.example.org:443"}, "make": nil} {
		req := ask(word)
		facts := friendly(p, req)
		facts.Levels = []paddock.Level{paddock.Full}
		facts.Dir = policy.DirFacts{Found: true, Real: "/srv", Root: "/srv"}
		d := policy.Decide(p, req, facts)
		if d.Effect != paddock.Allow {
			t.Fatalf("%s: %v", word, d.Refusal())
		}
		if diff := cmp.Diff(paddock.ContainAs{Level: paddock.Full, Network: "allowlist", Reach: reach}, d.Grant().Contain); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
		gate, _ := d.Gates.Of(paddock.GateContainment)
		if detail := gate.Detail; strings.Contains(detail, "modules.example.org:443") != (reach != nil) {
			t.Errorf("%s: the gate says %q", word, detail)
		}
		for _, want := range []string{
			"HTTP_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128", "HTTPS_PROXY=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128",
			"ALL_PROXY=socks5h://127.0.0.1:3128", "all_proxy=socks5h://127.0.0.1:3128", "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		} {
			if !slices.Contains(d.Grant().Environment, want) {
				t.Errorf("%s: %s isn't in %q", word, want, d.Grant().Environment)
			}
		}
	}
	if grant := p.Contain(); grant.Reach != nil {
		t.Errorf("the whole policy reaches %q", grant.Reach)
	}
}
