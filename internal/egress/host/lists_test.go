package host

import (
	"net"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/policy/compiled/document/shape/table/reach"
)

// A policy says of the same hosts as the proxy that a list lists them, and what
// it takes for the host of a secret is a place for the proxy.
func TestPolicyAndProxyAgreeOnWhatIsListed(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a.org", "b.a.org", "c.b.a.org", "ba.org", "org", "1.2.3.4", "[2001:db8::1]"})
	rapid.Check(t, func(t *rapid.T) {
		port := strconv.Itoa(rapid.SampledFrom([]int{443, 8443}).Draw(t, "port"))
		rule, err := ParseRule(rapid.SampledFrom([]string{"", "*."}).Draw(t, "suffix") + name.Draw(t, "rule") + ":" + port)
		if err != nil {
			t.Skip("not a rule")
		}
		written := name.Draw(t, "host") + rapid.SampledFrom([]string{"", ":443", ":8443"}).Draw(t, "written port")
		entry, err := reach.Origin(written)
		if err != nil || !regexp.MustCompile(reach.OriginForm).MatchString(written) {
			t.Fatalf("%q: %v", written, err)
		}
		place, err := ParseRule(entry)
		if err != nil || place.Suffix {
			t.Fatalf("%q isn't a place: %v", entry, err)
		}
		if got := reach.Lists([]string{rule.String()}, entry); got != rule.Matches(place.Host, place.Port) {
			t.Fatalf("%s lists %s: the policy says %v", rule, net.JoinHostPort(place.Host, strconv.Itoa(place.Port)), got)
		}
	})
}
