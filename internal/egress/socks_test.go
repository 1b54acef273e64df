package egress_test

import (
	"io"
	"net"
	"testing"

	"paddock/internal/egress"
)

// socksName is a SOCKS5 request for a name.
func socksName(name string, port int) string {
	return "\x05\x01\x00\x05\x01\x00\x03" + string(rune(len(name))) + name + string([]byte{byte(port >> 8), byte(port)})
}

func TestSOCKS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		reply    byte
		code     string
	}{
		{"a name", socksName(site, 22), 0, ""},
		{"in upper case with a dot", socksName("SITE.example.", 22), 0, ""},
		{"a listed address", "\x05\x01\x00\x05\x01\x00\x01\x0b\x00\x00\x01\x01\xbb", 0, ""},
		{"the same, mapped", "\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0b\x00\x00\x01\x01\xbb", 0, ""},
		{"another name", socksName("evil.example", 443), 2, egress.NotListed},
		{"NUL before a listed name", socksName("evil.example\x00."+site, 22), 2, egress.Malformed},
		{"NUL after a listed name", socksName(site+"\x00.evil", 22), 2, egress.Malformed},
		{"an empty name", socksName("", 22), 2, egress.Malformed},
		{"loopback as a name", socksName("127.0.0.1", 22), 2, egress.NotListed},
		{"loopback in decimal", socksName("2130706433", 22), 2, egress.Malformed},
		{"loopback", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x16", 2, egress.NotListed},
		{"metadata", "\x05\x01\x00\x05\x01\x00\x01\xa9\xfe\xa9\xfe\x00\x50", 2, egress.NotListed},
		{"loopback, IPv6", "\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x16", 2, egress.NotListed},
		{"a name in brackets", socksName("[::1]", 22), 2, egress.Malformed},
		{"a name with a port", socksName(site+":443", 22), 2, egress.Malformed},
		{"port 0", socksName(site, 0), 2, egress.Malformed},
		{"a rebound name", socksName("rebound.example", 22), 2, egress.AddressRefused},
		{"a name without an address", socksName("nowhere.example", 22), 4, egress.ResolveFailed},
		{"BIND", "\x05\x01\x00\x05\x02\x00\x01\x0b\x00\x00\x01\x00\x16", 7, egress.Malformed},
		{"UDP ASSOCIATE", "\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", 7, egress.Malformed},
		{"another address type", "\x05\x01\x00\x05\x01\x00\x02", 8, egress.Malformed},
		{"another version", "\x05\x01\x00\x04\x01\x00\x01\x0b\x00\x00\x01\x00\x16", 1, egress.Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, []string{site + ":22", "11.0.0.1:443", "rebound.example:22", "nowhere.example:22"}, nil)
			w.host(site, "11.0.0.1")
			w.host("rebound.example", "127.0.0.1")
			w.serve("11.0.0.1:22", func(conn net.Conn) { send(conn, "hello") })
			w.serve("11.0.0.1:443", func(conn net.Conn) { send(conn, "hello") })
			conn, r := w.connect(tc.in)
			half(conn)
			got, err := io.ReadAll(r)
			want := "\x05\x00\x05" + string([]byte{tc.reply}) + "\x00\x01\x00\x00\x00\x00\x00\x00"
			if tc.code == "" {
				want += "hello"
			}
			if string(got) != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
			conn.Close()
			if e := w.last(); e.Protocol != "socks5" || e.Code != tc.code {
				t.Errorf("recorded %+v", e)
			}
			if _, dialed, _ := w.seen(); tc.code != "" && len(dialed) > 0 {
				t.Errorf("connected to %q", dialed)
			}
		})
	}
}

// TestSOCKSTruncated ends a request after every byte of it.
func TestSOCKSTruncated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{site + ":22"}, nil)
	whole := socksName(site, 22)
	for n := 1; n < len(whole); n++ {
		conn, r := w.connect(whole[:n])
		half(conn)
		if got, _ := io.ReadAll(r); len(got) > 2 && got[3] == 0 {
			t.Errorf("%d bytes: got %q", n, got)
		}
		conn.Close()
		if e := w.last(); e.Verdict != egress.Refused || e.Connection != uint64(n) {
			t.Errorf("%d bytes: recorded %+v", n, e)
		}
	}
	w.untouched()
}

func TestSOCKSWithPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{site + ":22"}, nil)
	conn, r := w.connect("\x05\x01\x02")
	if got, _ := io.ReadAll(r); string(got) != "\x05\xff" {
		t.Errorf("got %q", got)
	}
	conn.Close()
	if e := w.last(); e.Code != egress.Unsupported {
		t.Errorf("recorded %+v", e)
	}
}

// TestSOCKSServerName holds SOCKS tunnels to the TLS server name, too.
func TestSOCKSServerName(t *testing.T) {
	t.Parallel()
	w := newSite(t, func(conn net.Conn) {
		if b, _ := io.ReadAll(conn); len(b) > 0 {
			t.Errorf("%d bytes reached the server", len(b))
		}
	})
	conn, r := w.connect(socksName(site, 443) + string(hello(t, "evil.example")))
	rest(r)
	conn.Close()
	if e := w.last(); e.Code != egress.NameMismatch {
		t.Errorf("recorded %+v", e)
	}
}
