package listen

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// serve starts a server and returns its address, and what ends it and waits.
func serve(t *testing.T, opt Options) (addr string, end func() error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opt.Log, opt.Now = slog.New(slog.DiscardHandler), time.Now
	if opt.Connections == 0 {
		opt.Connections = 10
	}
	if opt.Ending == nil {
		opt.Ending = func() {}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, opt) }()
	end = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), end
}

func dial(t *testing.T, addr, say string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, say); err != nil {
		t.Fatal(err)
	}
	return c
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// An answer that was begun is finished when the server ends; nothing new is begun.
func TestGracefulEnd(t *testing.T) {
	t.Parallel()
	inside, goOn := make(chan struct{}), make(chan struct{})
	addr, end := serve(t, Options{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(inside)
			<-goOn
			_, _ = io.WriteString(w, "whole")
		}),
		Ending: func() { close(goOn) },
	})
	c := dial(t, addr, get)
	<-inside
	if err := end(); err != nil {
		t.Error(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(a.Body); err != nil || string(text) != "whole" {
		t.Errorf("%s, %v", text, err)
	}
	_ = a.Body.Close() // read
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err == nil {
		_ = c.Close()
		t.Error("the server still listens")
	}
}

// An answer that doesn't come to its end keeps no server from its own: it is cut off.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	inside, cut := make(chan struct{}), make(chan struct{})
	addr, end := serve(t, Options{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
			close(inside)
			<-r.Context().Done()
			close(cut)
		}),
		Grace: time.Millisecond,
	})
	c := dial(t, addr, get)
	<-inside
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	for what, happens := range map[string]chan struct{}{"the server ends": ended, "the answer is cut off": cut} {
		select {
		case <-happens:
		case <-time.After(2 * time.Minute):
			t.Fatalf("it isn't so that %s", what)
		}
	}
	if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(a.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(text) != "begun" {
		t.Errorf("%s, %v", text, err)
	} else {
		_ = a.Body.Close() // read
	}
}

// A connection more than there is room for waits while all others are answered, and takes
// the place of one that is quiet.
func TestConnections(t *testing.T) {
	t.Parallel()
	inside, goOn := make(chan struct{}, 2), make(chan struct{})
	addr, _ := serve(t, Options{Connections: 1, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		inside <- struct{}{}
		<-goOn
		w.WriteHeader(http.StatusNoContent)
	})})
	first := dial(t, addr, get)
	<-inside
	second := dial(t, addr, get)
	answered := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(bufio.NewReader(second), nil) //nolint:bodyclose // 204
		answered <- err
	}()
	select {
	case <-inside:
		t.Fatal("two at once")
	case err := <-answered:
		t.Fatalf("two at once: %v", err)
	default:
	}
	close(goOn)
	// The first is answered whole; whether it is kept is up to who comes first.
	if _, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil { //nolint:bodyclose // 204
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// Whoever holds as many connections as there may be, and sends nothing or a header bit by
// bit, keeps nobody out, and there are no more than that.
func TestManyHoldConnections(t *testing.T) {
	t.Parallel()
	most := 100
	if os.Getenv("PADDOCK_LONG") != "" {
		most = 8000 // both ends are this process's
	}
	var live, peak atomic.Int64
	stream := make(chan struct{})
	addr, _ := serve(t, Options{Connections: most, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peak.Store(max(peak.Load(), live.Add(1)))
		defer live.Add(-1)
		if r.URL.Path == "/stream" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush() // the test sees it
			<-stream
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})})
	defer close(stream)
	followed := dial(t, addr, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(followed), nil); err != nil { //nolint:bodyclose // it would wait for the end
		t.Fatal(err)
	}
	var held []net.Conn
	for i := range most * 5 / 4 {
		say := ""
		if i%2 > 0 {
			say = "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " // and never more
		}
		held = append(held, dial(t, addr, say))
	}
	for range 20 { // each with a connection of its own
		c := dial(t, addr, get)
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil { //nolint:bodyclose // 204
			t.Fatal("others aren't served: ", err)
		}
	}
	// Those that came first made room, and the one that is answered is still there.
	if _, err := held[0].Read(make([]byte, 1)); err == nil {
		t.Error("something was said to who asked for nothing")
	}
	if live.Load() != 1 || peak.Load() > 21 {
		t.Errorf("%d are answered, %d were", live.Load(), peak.Load())
	}
}

// Requests that two readers could take for different ones are refused.
func TestFraming(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })})
	post := "POST / HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"two lengths":        post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"odd encoding":       post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two encodings":      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"negative length":    post + "Content-Length: -1\r\n\r\n",
		"space in a name":    post + "Content-Length : 1\r\n\r\na",
		"two hosts":          "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"no host":            "GET / HTTP/1.1\r\n\r\n",
		"NUL in a value":     "GET / HTTP/1.1\r\nHost: x\r\nA: b\x00\r\n\r\n",
		"many headers":       "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 60) + "\r\n",
		"another protocol":   "GET / HTTP/3.0\r\nHost: x\r\n\r\n",
		"nothing like HTTP":  "\x16\x03\x01\x02\x00\r\n\r\n",
		"line break in path": "GET /\r\nX: y HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c := dial(t, addr, text)
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if _ = a.Body.Close(); a.StatusCode < 400 || a.StatusCode >= 600 || a.StatusCode == 500 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
}

// Nothing is answered without the handler, which has the checks and headers of every answer.
func TestOptions(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
	a, err := http.ReadResponse(bufio.NewReader(dial(t, addr, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")), nil)
	if err != nil || a.Body.Close() != nil || a.StatusCode != http.StatusTeapot {
		t.Errorf("%v, %v", a, err)
	}
}

// make writes a certificate of its own for a name.
func certify(t *testing.T, dir, name string, stamp time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: cert}, "key": {Type: "EC PRIVATE KEY", Bytes: private}} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.WriteFile(path, pem.EncodeToMemory(block), 0o600), os.Chtimes(path, stamp, stamp)); err != nil {
			t.Fatal(err)
		}
	}
}

// TLS is served, and a certificate that was replaced is found without a restart; while
// the new one can't be used, the old one is.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir, stamp := t.TempDir(), time.Unix(1_700_000_000, 0)
	certify(t, dir, "one.example", stamp)
	now := stamp
	c := &certificate{cert: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key"), now: func() time.Time { return now }}
	name := func() string {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if got := name(); got != "one.example" {
		t.Error(got)
	}
	certify(t, dir, "two.example", stamp.Add(time.Second))
	if got := name(); got != "one.example" {
		t.Errorf("%s before it is looked at", got)
	}
	now = now.Add(reloadEvery)
	if got := name(); got != "two.example" {
		t.Errorf("%s after it was replaced", got)
	}
	if err := os.WriteFile(c.cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(reloadEvery)
	if got := name(); got != "two.example" {
		t.Errorf("%s while there is nonsense", got)
	}
	certify(t, dir, "three.example", stamp.Add(2*time.Second))
	addr, _ := serve(t, Options{Cert: c.cert, Key: c.key, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "safe") })})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	a, err := (&http.Client{Transport: transport}).Get("https://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read
	if err != nil || string(text) != "safe" || a.TLS.PeerCertificates[0].Subject.CommonName != "three.example" {
		t.Errorf("%s %v", text, err)
	}
	gone := Options{Cert: c.cert, Key: filepath.Join(dir, "none"), Handler: http.NotFoundHandler(), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a key: %v", err)
	}
}
