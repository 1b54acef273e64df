package host

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for _, tc := range []struct{ name, in, want, problem string }{
		{"a name", "example.org", "example.org", ""},
		{"upper case", "EXAMPLE.Org", "example.org", ""},
		{"a final dot", "example.org.", "example.org", ""},
		{"two final dots", "example.org..", "", "empty"},
		{"a first dot", ".example.org", "", "empty"},
		{"only a dot", ".", "", "empty"},
		{"empty", "", "", "empty"},
		{"NUL", "example.org\x00.evil", "", `no "\x00"`},
		{"a line break", "example.org\r\n.evil", "", `no "\r"`},
		{"a space", "example.org ", "", `no " "`},
		{"a percent sign", "example%2eorg", "", `no "%"`},
		{"an underscore", "a_b.example.org", "", `no "_"`},
		{"a user", "example.org@evil", "", `no "@"`},
		{"a slash", "example.org/evil", "", `no "/"`},
		{"a backslash", `example.org\evil`, "", `no "\\"`},
		{"brackets around a name", "[example.org]", "", "no"},
		{"not ASCII", "bücher.example", "", "xn--"},
		{"a full-width dot", "example．org", "", "xn--"},
		{"a Kelvin sign, which lowers to k", "\u212aelvin.org", "", "xn--"},
		{"bad UTF-8", "\xff.org", "", "xn--"},
		{"xn--", "xn--bcher-kva.example", "xn--bcher-kva.example", ""},
		{"xn-- in upper case", "XN--BCHER-KVA.example", "xn--bcher-kva.example", ""},
		{"hyphens", "r3---sn-a.example.org", "r3---sn-a.example.org", ""},
		{"a hyphen first", "-a.example.org", "", "hyphen"},
		{"a hyphen last", "a-.example.org", "", "hyphen"},
		{"the longest label", long + ".org", long + ".org", ""},
		{"a label too long", long + "a.org", "", "at most 63"},
		{"a name too long", strings.Repeat("a.", 130) + "org", "", "at most 253"},
		{"ten times too long", strings.Repeat("a", 2530), "", "at most 253"},
		{"one label", "registry", "registry", ""},

		{"IPv4", "192.0.2.1", "192.0.2.1", ""},
		{"IPv4 with a final dot", "127.0.0.1.", "127.0.0.1", ""},
		{"decimal", "2130706433", "", "four decimal"},
		{"octal", "0177.0.0.1", "", "four decimal"},
		{"leading zero", "127.0.0.01", "", "four decimal"},
		{"hexadecimal", "0x7f000001", "", "four decimal"},
		{"hexadecimal parts", "0x7f.0.0.0x1", "", "four decimal"},
		{"upper hexadecimal", "0X7F.1", "", "four decimal"},
		{"empty hexadecimal", "127.0.0.0x", "", "four decimal"},
		{"short", "127.1", "", "four decimal"},
		{"too many parts", "1.2.3.4.5", "", "four decimal"},
		{"a name that ends in a number", "example.1", "", "four decimal"},
		{"too big", "256.0.0.1", "", "four decimal"},

		{"IPv6", "2001:DB8:0::1", "2001:db8::1", ""},
		{"mapped", "::ffff:127.0.0.1", "127.0.0.1", ""},
		{"mapped in hexadecimal", "::FFFF:7f00:1", "127.0.0.1", ""},
		{"IPv6 with a zone", "fe80::1%eth0", "", "zones"},
		{"IPv6 with an encoded zone", "fe80::1%25eth0", "", "zones"},
		{"IPv6 in brackets", "[::1]", "", "not an IPv6"},
		{"a port", "example.org:443", "", "not an IPv6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Normalise(tc.in)
			check(t, got, tc.want, err, tc.problem)
		})
	}
}

func check(t *testing.T, got, want string, err error, problem string) {
	t.Helper()
	switch {
	case problem == "" && err != nil:
		t.Errorf("got %v, want %q", err, want)
	case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
		t.Errorf("got %q and %v, want an error with %q", got, err, problem)
	case got != want:
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseRule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, problem string }{
		{"a host", "modules.example.org:443", ""},
		{"a suffix", "*.example.org:443", ""},
		{"IPv4", "192.0.2.1:80", ""},
		{"IPv6", "[2001:db8::1]:443", ""},
		{"loopback, on purpose", "127.0.0.1:5432", ""},
		{"one label", "registry:5000", ""},

		{"empty", "", "host:port"},
		{"every host", "*", "no rule for every host"},
		{"every host at a port", "*:443", "no rule for every host"},
		{"a star in the middle", "a.*.org:443", "star"},
		{"two stars", "*.*.example.org:443", "star"},
		{"a star without a dot", "*example.org:443", "star"},
		{"everything under org", "*.org:443", "two parts"},
		{"a suffix of an address", "*.127.0.0.1:443", "no names below"},
		{"no host", ":443", "host is empty"},
		{"no name below", "*.:443", "host is empty"},
		{"no port", "example.org", "port is missing"},
		{"an empty port", "example.org:", "port is missing"},
		{"port 0", "example.org:0", "1 to 65535"},
		{"a port too big", "example.org:65536", "1 to 65535"},
		{"a port in octal", "example.org:0443", "1 to 65535"},
		{"a port with a sign", "example.org:+443", "1 to 65535"},
		{"a port with a space", "example.org: 443", "1 to 65535"},
		{"a named port", "example.org:https", "1 to 65535"},
		{"a path", "example.org:443/x", "path"},
		{"a scheme", "https://example.org:443", "scheme"},
		{"a user", "me@example.org:443", "user"},
		{"a query", "example.org?x:443", "no"},
		{"a comment", "example.org#x:443", "no"},
		{"upper case", "Example.org:443", `write it as "example.org:443"`},
		{"a final dot", "example.org.:443", `write it as "example.org:443"`},
		{"IPv6, not canonical", "[2001:db8:0::1]:443", `write it as "[2001:db8::1]:443"`},
		{"IPv6 without brackets", "2001:db8::1:443", "brackets"},
		{"IPv6 with a zone", "[fe80::1%eth0]:443", "zones"},
		{"mapped", "[::ffff:10.0.0.1]:80", `write it as "10.0.0.1:80"`},
		{"IPv4 in brackets", "[10.0.0.1]:80", "brackets"},
		{"an open bracket", "[::1:80", "brackets"},
		{"after the brackets", "[::1]80", "colon"},
		{"localhost", "localhost:80", "127.0.0.1:80"},
		{"below localhost", "a.localhost:80", "127.0.0.1:80"},
		{"unspecified", "0.0.0.0:80", "nothing can be connected"},
		{"unspecified IPv6", "[::]:80", "nothing can be connected"},
		{"multicast", "224.0.0.1:80", "nothing can be connected"},
		{"spaces", " example.org:443", "no"},
		{"a line break", "example.org:443\n", "1 to 65535"},
		{"NUL", "example.org\x00:443", "no"},
		{"bad UTF-8", "\xff\xfe.example.org:443", "xn--"},
		{"long", strings.Repeat("a", 100_000) + ":443", "at most 253"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRule(tc.in)
			if tc.problem == "" {
				check(t, r.String(), tc.in, err, "")
				return
			}
			check(t, r.Host, "", err, tc.problem)
			if len(err.Error()) > 400 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestListHas(t *testing.T) {
	t.Parallel()
	var l List
	for _, s := range []string{"example.org:443", "*.example.net:443", "10.0.0.1:80"} {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		l = append(l, r)
	}
	for _, tc := range []struct {
		host string
		port int
		want bool
	}{
		{"example.org", 443, true},
		{"example.org", 80, false},
		{"www.example.org", 443, false},
		{"notexample.org", 443, false},
		{"example.org.evil.net", 443, false},
		{"a.example.net", 443, true},
		{"a.b.example.net", 443, true},
		{"example.net", 443, false},
		{"notexample.net", 443, false},
		{"example.net.evil.org", 443, false},
		{"10.0.0.1", 80, true},
		{"10.0.0.2", 80, false},
		{"", 443, false},
	} {
		if got := l.Has(tc.host, tc.port); got != tc.want {
			t.Errorf("%s:%d: got %v, want %v", tc.host, tc.port, got, tc.want)
		}
	}
	if (Rule{}).Matches("", 0) || (Rule{Suffix: true, Port: 80}).Matches("a.", 80) || List(nil).Has("a", 1) {
		t.Error("a zero rule matches")
	}
}

func TestSpecial(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:7f00:1::",
		"2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1", "100::1", "4000::1", "5f00::1",
	} {
		if Special(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s passes as public", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1", "128.0.0.1", "172.15.0.1", "172.32.0.1",
		"192.167.1.1", "223.255.255.255", "::ffff:1.1.1.1", "2606:4700::1", "2a00:1450::1", "64:ff9b::101:101",
	} {
		if what := Special(netip.MustParseAddr(s)); what != "" {
			t.Errorf("%s: %s", s, what)
		}
	}
	if Special(netip.Addr{}) == "" {
		t.Error("no address passes as public")
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	l := List{{Host: "10.0.0.1", Port: 80}}
	addrs := func(list ...string) (out []netip.Addr) {
		for _, s := range list {
			out = append(out, netip.MustParseAddr(s))
		}
		return out
	}
	good, _ := l.Judge(addrs("127.0.0.1", "1.1.1.1", "::ffff:8.8.8.8", "10.0.0.1"), 80)
	if len(good) != 3 || good[0].String() != "1.1.1.1" || good[1].String() != "8.8.8.8" || good[2].String() != "10.0.0.1" {
		t.Errorf("got %v", good)
	}
	if good, why := l.Judge(addrs("10.0.0.1"), 443); len(good) != 0 || !strings.Contains(why, "private") {
		t.Errorf("listed at another port: got %v, %q", good, why)
	}
}

// TestNormaliseProperties draws hostile hosts: what is allowed is what was
// listed, but for case, one final dot, and the address inside of a mapped one.
func TestNormaliseProperties(t *testing.T) {
	t.Parallel()
	list := List{{Host: "example.org", Port: 443}, {Host: "example.net", Port: 443, Suffix: true}, {Host: "1.1.1.1", Port: 443}}
	pieces := []string{"example", "EXAMPLE", ".", "org", "net", "evil", "a", "\x00", "%00", "@", "#", "/", "\\", ":", "[", "]", " ", "\t",
		"\r\n", "1", "1.1.1.1", "::ffff:", "0x1", "01", "xn--", "-", "_", "\u212a", "。", "ß", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		properties(t, list, in)
	})
}

type fataler interface{ Fatalf(string, ...any) }

func properties(t fataler, list List, in string) {
	got, err := Normalise(in)
	if err != nil {
		if got != "" {
			t.Fatalf("%q is refused and yet %q", in, got)
		}
		return
	}
	if again, err := Normalise(got); err != nil || again != got {
		t.Fatalf("%q becomes %q, that %q, %v", in, got, again, err)
	}
	if !list.Has(got, 443) {
		return
	}
	plain := strings.TrimSuffix(strings.ToLower(in), ".")
	if got == plain && (got == "example.org" || got == "1.1.1.1" || strings.HasSuffix(got, ".example.net")) {
		return
	}
	if addr, err := netip.ParseAddr(plain); err == nil && addr.Is4In6() && addr.Unmap().String() == got {
		return
	}
	t.Fatalf("%q is let through as %q", in, got)
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"example.org", "a.example.net.", "::ffff:1.1.1.1", "0x7f.1", "example.org\x00", "[::1]", "xn--a"} {
		f.Add(s)
	}
	list := List{{Host: "example.org", Port: 443}, {Host: "example.net", Port: 443, Suffix: true}, {Host: "1.1.1.1", Port: 443}}
	f.Fuzz(func(t *testing.T, in string) { properties(t, list, in) })
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"example.org:443", "*.example.org:443", "[2001:db8::1]:443", "192.0.2.1:80", "*", ":0", "http://x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ParseRule(in)
		switch {
		case err != nil && r != (Rule{}):
			t.Fatalf("%q is refused and yet %v", in, r)
		case err != nil:
		case r.String() != in || r.Port < 1 || r.Port > 65535 || r.Host == "":
			t.Fatalf("%q is read as %#v", in, r)
		case r.Matches(r.Host, r.Port) == r.Suffix:
			t.Fatalf("%q and its own host", in)
		}
	})
}
