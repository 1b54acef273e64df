package forward

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/policy/compiled/document/shape/table/reach"
)

// A policy and the proxy take the same headers for a secret.
func TestPolicyAndProxyAgreeOnHeaders(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("Authorization Cookie X-Api-Key host Host HOST content-length Expect Accept-Encoding connection Proxy-Connection keep-alive " +
		"proxy-authenticate Proxy-Authorization TE te Trailer transfer-encoding Upgrade HTTP2-Settings a_b é x:y x\u00a0y x,y"))
	rapid.Check(t, func(t *rapid.T) {
		name := word.Draw(t, "name")
		if rapid.Bool().Draw(t, "changed") {
			name += rapid.StringN(0, 3, 8).Draw(t, "end")
		}
		if policy, proxy := reach.Settable(name), Settable(name); policy != proxy {
			t.Fatalf("%q: the policy says %v, the proxy %v", name, policy, proxy)
		}
	})
}
