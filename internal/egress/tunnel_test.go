package egress_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/egress"
	"paddock/internal/egress/authority"
)

const site = "site.example"

// newSite makes a world with a listed host at port 443 and 22.
func newSite(t *testing.T, handle func(net.Conn)) *world {
	t.Helper()
	w := newWorld(t, []string{site + ":443", site + ":22", "11.0.0.1:443"}, nil)
	w.host(site, "11.0.0.1")
	w.serve("11.0.0.1:443", handle)
	w.serve("11.0.0.1:22", handle)
	return w
}

// tlsServer answers TLS with its own certificates, whatever the name.
func tlsServer(t *testing.T, handle func(*tls.Conn), hosts ...string) (func(net.Conn), *x509.CertPool) {
	t.Helper()
	a, err := authority.New(hosts, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	return func(conn net.Conn) {
		c := tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return a.Certificate(hosts[0]), nil
		}})
		if c.HandshakeContext(context.Background()) == nil {
			handle(c)
		}
	}, roots
}

// TestTunnelIsExact sends 10 MB each way at the same time.
func TestTunnelIsExact(t *testing.T) {
	t.Parallel()
	const size = 10_000_000
	w := newSite(t, func(conn net.Conn) {
		var both sync.WaitGroup
		sum := sha256.New()
		both.Go(func() { _, _ = io.Copy(conn, io.LimitReader(rand.NewChaCha8([32]byte{1}), size)) })
		both.Go(func() { _, _ = io.Copy(sum, conn) }) // to the client's end
		both.Wait()
		send(conn, string(sum.Sum(nil)))
	})
	conn, r := w.tunnel(site + ":22")
	var sending sync.WaitGroup
	sent := sha256.New()
	sending.Go(func() {
		_, _ = io.Copy(io.MultiWriter(conn, sent), io.LimitReader(rand.NewChaCha8([32]byte{2}), size))
		half(conn)
	})
	got, err := io.ReadAll(r)
	sending.Wait()
	want := make([]byte, size)
	_, _ = io.ReadFull(rand.NewChaCha8([32]byte{1}), want)
	if err != nil || !bytes.Equal(got, slices.Concat(want, sent.Sum(nil))) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	conn.Close()
	if e := w.last(); e.BytesOut != size || e.BytesIn != size+sha256.Size || e.Verdict != egress.Allowed || e.Protocol != "connect" {
		t.Errorf("recorded %+v", e)
	}
}

// TestRecordBeforeData looks at the record from the server: the decision is in
// it before the first byte is.
func TestRecordBeforeData(t *testing.T) {
	t.Parallel()
	w := newSite(t, func(conn net.Conn) {})
	var seen []egress.Entry
	w.serve("11.0.0.1:22", func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		_, _, seen = w.seen()
		send(conn, "done")
	})
	conn, r := w.tunnel(site + ":22")
	send(conn, "x")
	rest(r)
	conn.Close()
	end := w.last()
	if len(seen) != 1 || seen[0].Closed || seen[0].Verdict != egress.Allowed || seen[0].Address != "11.0.0.1:22" || seen[0].Host != site {
		t.Errorf("recorded %+v", seen)
	}
	if end.Connection != seen[0].Connection || end.Connection == 0 || end.BytesOut != 1 || end.BytesIn != 4 || end.At.IsZero() {
		t.Errorf("at the end %+v", end)
	}
}

func TestServerSpeaksFirst(t *testing.T) {
	t.Parallel()
	w := newSite(t, func(conn net.Conn) {
		send(conn, "SSH-2.0-x\r\n")
		echo(conn)
	})
	conn, r := w.tunnel(site + ":22")
	if line, err := r.ReadString('\n'); err != nil || line != "SSH-2.0-x\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	send(conn, "SSH-2.0-y\r\n")
	half(conn)
	if rest, _ := io.ReadAll(r); string(rest) != "SSH-2.0-y\r\n" {
		t.Errorf("got %q", rest)
	}
}

// TestServerEndsFirst goes on sending after the server has said its last word.
func TestServerEndsFirst(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	w := newSite(t, func(conn net.Conn) {
		half(conn)
		b, _ := io.ReadAll(conn)
		got <- string(b)
	})
	conn, r := w.tunnel(site + ":22")
	if b, err := io.ReadAll(r); err != nil || len(b) > 0 {
		t.Fatalf("got %q, %v", b, err)
	}
	send(conn, "still here")
	half(conn)
	if s := <-got; s != "still here" {
		t.Errorf("got %q", s)
	}
}

// TestEarlyBytes sends the beginning of the tunnel along with the request.
func TestEarlyBytes(t *testing.T) {
	t.Parallel()
	w := newSite(t, echo)
	conn, r := w.connect("CONNECT " + site + ":22 HTTP/1.1\r\n\r\nearly")
	half(conn)
	all, _ := io.ReadAll(r)
	if !strings.HasSuffix(string(all), "\r\n\r\nearly") {
		t.Errorf("got %q", all)
	}
}

// hello returns what a TLS client says first.
func hello(t *testing.T, name string) []byte {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if c.HandshakeContext(context.Background()) == nil {
			t.Error("a handshake with nobody")
		}
	}()
	buf := make([]byte, 16<<10)
	n, err := server.Read(buf)
	server.Close()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// records cuts a hello into records of n bytes.
func records(raw []byte, n int) []byte {
	var out []byte
	for message := raw[5:]; len(message) > 0; {
		size := min(n, len(message))
		out = append(append(out, 0x16, 3, 1, byte(size>>8), byte(size)), message[:size]...)
		message = message[size:]
	}
	return out
}

func TestServerName(t *testing.T) {
	t.Parallel()
	evil := hello(t, "evil.example")
	for _, tc := range []struct {
		name, target string
		first        []byte
		code         string // of the refusal; empty if it passes
	}{
		{"the same", site + ":443", hello(t, site), ""},
		{"the same in upper case", site + ":443", hello(t, strings.ToUpper(site)), ""},
		{"the same in small records", site + ":443", records(hello(t, site), 3), ""},
		{"the same at another port", site + ":22", hello(t, site), ""},
		{"not TLS at another port", site + ":22", []byte("SSH-2.0-x\r\n"), ""},
		{"no name for an address", "11.0.0.1:443", hello(t, "11.0.0.1"), ""},
		{"another", site + ":443", evil, egress.NameMismatch},
		{"another in small records", site + ":443", records(evil, 1), egress.NameMismatch},
		{"another at another port", site + ":22", evil, egress.NameMismatch},
		{"another for an address", "11.0.0.1:443", evil, egress.NameMismatch},
		{"below the host", site + ":443", hello(t, "a."+site), egress.NameMismatch},
		{"none", site + ":443", hello(t, "11.0.0.1"), egress.NameMismatch},
		{"not TLS", site + ":443", []byte("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), egress.TLSRequired},
		{"the old form of TLS", site + ":443", []byte("\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10"), egress.TLSRequired},
		{"half a hello", site + ":443", hello(t, site)[:100], egress.Malformed},
		{"garbage like TLS", site + ":22", []byte("\x16\x03\x01\x00\x05hello"), egress.NameMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []byte
			w := newSite(t, func(conn net.Conn) {
				b, _ := io.ReadAll(conn)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, b...)
			})
			conn, r := w.tunnel(tc.target)
			for b := tc.first; len(b) > 0; { // in segments, too
				n := min(50, len(b))
				if _, err := conn.Write(b[:n]); err != nil {
					break // refused by now
				}
				b = b[n:]
			}
			half(conn)
			answer, _ := io.ReadAll(r)
			conn.Close()
			e := w.last()
			mu.Lock()
			defer mu.Unlock()
			if tc.code == "" {
				if !bytes.Equal(got, tc.first) || e.Verdict != egress.Allowed || e.BytesOut != int64(len(tc.first)) {
					t.Errorf("passed %d bytes of %d; recorded %+v", len(got), len(tc.first), e)
				}
				return
			}
			if len(got) > 0 || e.Verdict != egress.Refused || e.Code != tc.code || e.BytesOut != 0 {
				t.Errorf("passed %d bytes; recorded %+v", len(got), e)
			}
			if len(answer) > 0 && answer[0] != 0x15 {
				t.Errorf("answered %q, which is no TLS alert", answer)
			}
		})
	}
}

// TestOpaque runs TLS through a tunnel, end to end: the proxy isn't in it.
func TestOpaque(t *testing.T) {
	t.Parallel()
	server, roots := tlsServer(t, func(c *tls.Conn) { echo(c) }, site)
	w := newSite(t, server)
	conn, _ := w.tunnel(site + ":443")
	c := tls.Client(conn, &tls.Config{ServerName: site, RootCAs: roots})
	if _, err := io.WriteString(c, "secret"); err != nil {
		t.Fatal(err)
	}
	half(c)
	if got, err := io.ReadAll(c); string(got) != "secret" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
