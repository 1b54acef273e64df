package hello

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// real returns the hello that crypto/tls sends for a server name.
func real(t testing.TB, name string) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		defer client.Close()
		if err := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).HandshakeContext(context.Background()); err == nil {
			t.Error("a handshake with nobody")
		}
	}()
	raw, got, err := Read(server)
	if err != nil || got != name && net.ParseIP(name) == nil {
		t.Fatalf("got %q, %v, want %q", got, err, name)
	}
	return raw
}

// cut makes records of at most n bytes out of a hello in one record.
func cut(raw []byte, n int) []byte {
	var out []byte
	for message := raw[5:]; len(message) > 0; {
		size := min(n, len(message))
		out = append(out, 0x16, 3, 1, byte(size>>8), byte(size))
		out = append(out, message[:size]...)
		message = message[size:]
	}
	return out
}

// build makes a hello with these extensions.
func build(extensions ...[]byte) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0)
	all := bytes.Join(extensions, nil)
	body = append(body, byte(len(all)>>8), byte(len(all)))
	body = append(body, all...)
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append([]byte{0x16, 3, 1, byte(len(message) >> 8), byte(len(message))}, message...)
}

// sni makes a server_name extension of entries of a type and a name.
func sni(entries ...string) []byte {
	var list []byte
	for _, e := range entries {
		list = append(list, e[0], byte((len(e)-1)>>8), byte(len(e)-1))
		list = append(list, e[1:]...)
	}
	list = append([]byte{byte(len(list) >> 8), byte(len(list))}, list...)
	return append([]byte{0, 0, byte(len(list) >> 8), byte(len(list))}, list...)
}

func TestRead(t *testing.T) {
	t.Parallel()
	raw := real(t, "example.org")
	for _, tc := range []struct {
		name string
		in   []byte
		want string
		bad  bool
	}{
		{"as Go sends it", raw, "example.org", false},
		{"to an address", real(t, "192.0.2.1"), "", false},
		{"in records of 7 bytes", cut(raw, 7), "example.org", false},
		{"in records of 1 byte", cut(raw, 1), "example.org", false},
		{"built by hand", build(sni("\x00example.org")), "example.org", false},
		{"NUL in the name, for the caller to judge", build(sni("\x00a\x00b")), "a\x00b", false},
		{"no extensions", build(), "", false},
		{"another extension first", build([]byte{0xfe, 0x0d, 0, 1, 7}, sni("\x00example.org")), "example.org", false},
		{"two names", build(sni("\x00example.org", "\x00evil")), "", true},
		{"two extensions", build(sni("\x00example.org"), sni("\x00evil")), "", true},
		{"another kind of name", build(sni("\x01example.org")), "", true},
		{"an empty name", build(sni("\x00")), "", true},
		{"an empty list", build(sni()), "", true},
		{"an empty extension", build([]byte{0, 0, 0, 0}), "", true},
		{"a length too long", build([]byte{0, 0, 0, 9, 0}), "", true},
		{"bytes behind the hello", append(bytes.Clone(raw[:3]), append([]byte{byte((len(raw) - 4) >> 8), byte(len(raw) - 4)}, append(bytes.Clone(raw[5:]), 0)...)...), "", true},
		{"not a handshake", append([]byte{0x17}, raw[1:]...), "", true},
		{"not TLS", append([]byte{0x16, 2}, raw[2:]...), "", true},
		{"not a hello", []byte{0x16, 3, 1, 0, 4, 2, 0, 0, 0}, "", true},
		{"an empty record", []byte{0x16, 3, 1, 0, 0}, "", true},
		{"a record too long", []byte{0x16, 3, 1, 0xff, 0xff}, "", true},
		{"a hello too long", []byte{0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff}, "", true},
		{"an alert between two parts", append(cut(raw, 100)[:105], 0x15, 3, 1, 0, 2, 1, 0), "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rest := bytes.NewReader(append(bytes.Clone(tc.in), "what follows"...))
			got, name, err := Read(iotest.OneByteReader(rest))
			if name != tc.want || (err != nil) != tc.bad {
				t.Fatalf("got %q, %v", name, err)
			}
			if tail, _ := io.ReadAll(rest); !tc.bad && (!bytes.Equal(got, tc.in) || string(tail) != "what follows") {
				t.Errorf("took %d bytes of %d", len(got), len(tc.in))
			}
		})
	}
}

func TestReadTruncated(t *testing.T) {
	t.Parallel()
	raw := real(t, "example.org")
	for n := range raw {
		got, name, err := Read(bytes.NewReader(raw[:n]))
		if name != "" || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(got, raw[:n]) {
			t.Fatalf("%d bytes: got %q, %v", n, name, err)
		}
	}
}

// TestReadBounded feeds records without end.
func TestReadBounded(t *testing.T) {
	t.Parallel()
	endless := strings.NewReader("\x16\x03\x01\x00\x04\x01\x00\xff\xf0" + strings.Repeat("\x16\x03\x01\x00\x01\x00", 1<<20))
	raw, _, err := Read(endless)
	if err == nil || len(raw) > MaxBytes+5+maxRecord {
		t.Fatalf("%d bytes were kept, %v", len(raw), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(build(sni("\x00example.org")))
	f.Add(cut(build(sni("\x00example.org"), []byte{0, 43, 0, 3, 2, 3, 4}), 9))
	f.Add([]byte{0x16, 3, 1, 0, 4, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		raw, name, err := Read(bytes.NewReader(in))
		if !bytes.HasPrefix(in, raw) {
			t.Fatal("what was read isn't what was sent")
		}
		if err != nil && name != "" {
			t.Fatalf("an error and yet the name %q", name)
		}
		// Go's own server must not read another name out of the same bytes.
		if err == nil {
			if theirs, ok := asServer(raw); ok && theirs != strings.TrimSuffix(name, ".") {
				t.Fatalf("here %q, there %q", name, theirs)
			}
		}
	})
}

// asServer returns the server name that crypto/tls reads out of a hello.
func asServer(raw []byte) (name string, ok bool) {
	conn := &played{Reader: bytes.NewReader(raw)}
	stop := errors.New("enough")
	err := tls.Server(conn, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name, ok = h.ServerName, true
		return nil, stop
	}}).HandshakeContext(context.Background())
	return name, ok && err != nil
}

// played is a connection whose client has said everything.
type played struct {
	net.Conn
	*bytes.Reader
}

func (p *played) Read(b []byte) (int, error)  { return p.Reader.Read(b) }
func (p *played) Write(b []byte) (int, error) { return len(b), nil }
func (p *played) Close() error                { return nil }
