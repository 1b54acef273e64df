package socks

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

type duplex struct {
	io.Reader
	bytes.Buffer
}

func (d *duplex) Read(b []byte) (int, error) { return d.Reader.Read(b) }

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, reply string
		bad             bool
	}{
		{"no authentication", "\x05\x01\x00", "\x05\x00", false},
		{"among others", "\x05\x03\x02\x01\x00", "\x05\x00", false},
		{"only a password", "\x05\x01\x02", "\x05\xff", true},
		{"no method", "\x05\x00", "\x05\xff", true},
		{"SOCKS4", "\x04\x01\x00", "", true},
		{"cut off", "\x05\x02\x00", "", true},
		{"empty", "", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := &duplex{Reader: strings.NewReader(tc.in)}
			if err := Negotiate(d); (err != nil) != tc.bad || d.String() != tc.reply {
				t.Errorf("got %v, reply %q, want %q", err, d.String(), tc.reply)
			}
		})
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, host string
		port           int
		reply          byte
	}{
		{"a name", "\x05\x01\x00\x03\x0bexample.org\x01\xbb", "example.org", 443, 0},
		{"IPv4", "\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", "192.0.2.1", 80, 0},
		{"IPv6", "\x05\x01\x00\x04\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50", "2001:db8::1", 80, 0},
		{"NUL, for the caller to judge", "\x05\x01\x00\x03\x03a\x00b\x00\x50", "a\x00b", 80, 0},
		{"an empty name, too", "\x05\x01\x00\x03\x00\x00\x50", "", 80, 0},
		{"BIND", "\x05\x02\x00\x01\xc0\x00\x02\x01\x00\x50", "", 0, CommandUnsupported},
		{"UDP ASSOCIATE", "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", "", 0, CommandUnsupported},
		{"port 0", "\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x00", "", 0, NotAllowed},
		{"another address", "\x05\x01\x00\x02", "", 0, AddressUnsupported},
		{"reserved", "\x05\x01\x01\x01\xc0\x00\x02\x01\x00\x50", "", 0, Failed},
		{"another version", "\x04\x01\x00\x01\xc0\x00\x02\x01\x00\x50", "", 0, Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			host, port, err := ReadRequest(strings.NewReader(tc.in))
			bad, ok := errors.AsType[*RequestError](err)
			if host != tc.host || port != tc.port || ok != (tc.reply != 0) || ok && bad.Reply != tc.reply {
				t.Errorf("got %q, %d, %v", host, port, err)
			}
			for n := range len(tc.in) {
				host, _, err := ReadRequest(strings.NewReader(tc.in[:n]))
				if err == nil || host != "" {
					t.Errorf("cut off after %d bytes: got %q, %v", n, host, err)
				}
			}
		})
	}
}

func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x0bexample.org\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x05\x03\x00\x04"))
	f.Fuzz(func(t *testing.T, in []byte) {
		d := &duplex{Reader: bytes.NewReader(in)}
		if Negotiate(d) != nil {
			return
		}
		host, port, err := ReadRequest(d)
		if err != nil && (host != "" || port != 0) || err == nil && (port < 1 || port > 65535 || len(host) > 255) {
			t.Fatalf("got %q, %d, %v", host, port, err)
		}
	})
}
