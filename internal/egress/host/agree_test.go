package host

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/policy/compiled/document/shape/table/reach"
)

// accepted is what a policy file makes of an entry of a network list.
func accepted(entry string) bool {
	return reach.HasForm(entry) && reach.Check(entry) == nil
}

// A policy file and the proxy accept the same entries: what loads can be served,
// and what can be served can be written.
func TestPolicyAndProxyAgree(t *testing.T) {
	t.Parallel()
	for entry, good := range map[string]bool{
		"example.org:443": true, "*.example.org:443": true, "a:1": true, "a-b.c0:65535": true, "192.0.2.7:80": true,
		"127.0.0.1:8080": true, "[2001:db8::1]:443": true, "[::1]:80": true, "[1:0:0:2::3]:1": true, "xn--bcher-kva.example:443": true,
		"[fe80::]:1": true, "[1:2:3:4:5:6:7:8]:1": true, "a--b.org:1": true, "0.0.0.1:1": true, "[::1:2]:1": true,
		strings.Repeat("a", 63) + ".org:1": true, strings.Repeat("a.", 126) + "a:1": true,

		"": false, "example.org": false, "example.org:": false, "example.org:0": false, "example.org:65536": false, "example.org:0443": false,
		"example.org:99999999999999999999": false, "Example.org:443": false, "example.org.:443": false, "*:443": false, "*.org:443": false,
		"*.*.org:1": false, "*.1.2.3.4:1": false, "*.[::1]:1": false, "http://example.org:80": false, "a@b:1": false, "a/b:1": false, "-a:1": false,
		"a-:1": false, "a.-b:1": false, "a..b:1": false, ".a:1": false, "localhost:1": false, "a.localhost:1": false, "*.a.localhost:1": false, "*.localhost:1": false,
		"127.1:1": false, "2130706433:1": false, "0x7f000001:1": false, "0x7f.1:1": false, "1.0x:1": false, "0177.0.0.1:1": false, "256.0.0.1:1": false,
		"1.2.3.4.5:1": false, "0.0.0.0:1": false, "224.0.0.1:1": false, "239.1.1.1:1": false, "::1:80": false, "[::]:80": false, "[ff02::1]:1": false,
		"[::ffff:7f00:1]:1": false, "[::ffff:127.0.0.1]:1": false, "[2001:DB8::1]:1": false, "[2001:db8:0::1]:1": false, "[2001:0db8::1]:1": false,
		"[1::2::3]:1": false, "[1:2:3:4:5:6:7::]:1": false, "[::1%lo]:1": false, "[1:2]:1": false, "[:]:1": false, "[:::]:1": false, "[1:]:1": false, "[]:1": false,
		"[0:0:0:0:0:0:0:1]:1": false, "[1::0:0:2]:1": false, "[12345::]:1": false, "[1:0:2:3:4:5:6:7]:1": true, "[1::2:3:4:5:6:7]:1": false, "a\x00b:1": false, "bücher.example:443": false,
		strings.Repeat("a", 64) + ".org:1": false, strings.Repeat("a.", 127) + "a:1": false, "a:1\n": false,
	} {
		_, err := ParseRule(entry)
		if accepted(entry) != good || (err == nil) != good {
			t.Errorf("%q: good is %v, the policy takes it: %v, the proxy: %v", entry, good, accepted(entry), err)
		}
	}
	part := rapid.SampledFrom(strings.Split("a ab a- -a 0 1 255 256 00 01 0x 0xf localhost * . .. : :: ::: [ ] ffff ff02 db8 2001 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7 :443 :0 org example", " "))
	rapid.Check(t, func(t *rapid.T) {
		entry := strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), rapid.SampledFrom([]string{"", ".", ":"}).Draw(t, "between"))
		entry = rapid.SampledFrom([]string{"", "*.", "["}).Draw(t, "before") + entry + rapid.SampledFrom([]string{"", ":443", "]:443"}).Draw(t, "after")
		_, err := ParseRule(entry)
		if accepted(entry) != (err == nil) {
			t.Fatalf("%q: the policy takes it: %v, the proxy: %v", entry, accepted(entry), err)
		}
	})
}
