package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/internal/egress"
)

const (
	api    = "api.example"
	secret = "Bearer correct-horse-battery"
)

// client makes an HTTP client that goes through the proxy and trusts roots.
func (w *world) client(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: w.at}),
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}}
}

// pool is the certificates that a run trusts which is told to trust the proxy.
func pool(w *world) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.proxy.CA())
	return roots
}

// newAPI makes a world with a host that gets a credential and one that doesn't.
func newAPI(t *testing.T, value func() string, handle http.HandlerFunc) *world {
	t.Helper()
	var mu sync.Mutex
	server, roots := tlsServer(t, func(c *tls.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			rec := &answer{header: http.Header{}, code: 200}
			mu.Lock()
			handle(rec, req)
			mu.Unlock()
			resp := http.Response{ProtoMajor: 1, ProtoMinor: 1, StatusCode: rec.code, Header: rec.header, Request: req,
				ContentLength: int64(rec.body.Len()), Body: io.NopCloser(&rec.body), Close: rec.header.Get("X-End") != ""}
			if resp.Write(c) != nil || resp.Close {
				return
			}
			rest(req.Body)
		}
	}, api)
	w := newWorld(t, []string{api + ":443", "other.example:443", api + ":80"}, func(c *egress.Config) {
		c.Roots = roots
		c.Inject = []egress.Injection{{Name: "API", Place: egress.Rule{Host: api, Port: 443}, Header: "Authorization", Value: value}}
	})
	w.host(api, "11.0.0.1")
	w.host("other.example", "11.0.0.2")
	w.serve("11.0.0.1:443", server)
	return w
}

type answer struct {
	header http.Header
	body   bytes.Buffer
	code   int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func fixed() string { return secret }

func TestInjection(t *testing.T) {
	t.Parallel()
	var got []http.Header
	w := newAPI(t, fixed, func(rw http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Clone())
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s %s", r.Method, r.Host, b)
	})
	client := w.client(pool(w))
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://"+api+"/v1?x=y", strings.NewReader("question"))
		req.Header.Set("Authorization", "Bearer mine")
		req.Header.Add("Authorization", "Bearer another")
		req.Header.Set("Connection", "Authorization")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "POST "+api+" question" || err != nil {
			t.Errorf("got %q, %v", body, err)
		}
	}
	client.CloseIdleConnections()
	for _, h := range got {
		if values := h["Authorization"]; len(values) != 1 || values[0] != secret {
			t.Errorf("the origin saw %q", values)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d requests arrived", len(got))
	}
	_, dialed, _ := w.seen()
	if e := w.last(); e.InjectedRequests != int64(3/len(dialed)) || !slices.Equal(e.Injected, []string{"API"}) || e.Verdict != egress.Allowed || e.BytesIn == 0 {
		t.Errorf("%d connections; recorded %+v", len(dialed), e)
	}
}

// TestInjectionReuse sends several requests over one connection.
func TestInjectionReuse(t *testing.T) {
	t.Parallel()
	w := newAPI(t, fixed, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			rw.Header().Set("X-End", "1")
		}
		send(rw, r.URL.Path)
	})
	c, r := w.secure(api)
	for _, path := range []string{"/a", "/b", "/end"} {
		send(c, "GET "+path+" HTTP/1.1\r\nHost: "+api+"\r\n\r\n")
		if resp, body := w.answer(r); body != path || resp.Close != (path == "/end") {
			t.Errorf("%s: got %q, close %v", path, body, resp.Close)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
	c.Close()
	if e := w.last(); e.InjectedRequests != 3 {
		t.Errorf("recorded %+v", e)
	}
}

// secure opens a tunnel and speaks TLS in it, as a run that trusts the proxy.
func (w *world) secure(name string) (*tls.Conn, *bufio.Reader) {
	w.t.Helper()
	conn, _ := w.tunnel(api + ":443")
	c := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: pool(w)})
	if err := c.HandshakeContext(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// TestSecretStaysOutside lets the origin say the secret back in every way that
// it can without encoding it, in pieces too.
func TestSecretStaysOutside(t *testing.T) {
	t.Parallel()
	w := newAPI(t, fixed, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Echo", r.Header.Get("Authorization"))
		rw.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
		send(rw, strings.Repeat("x", 32<<10-10)+secret+" and correct-horse-batteries and correct-horse-battery")
	})
	c, r := w.secure(api)
	send(c, "GET / HTTP/1.1\r\nHost: "+api+"\r\nAccept-Encoding: gzip\r\n\r\n")
	resp, body := w.answer(r)
	stars := strings.Repeat("*", len(secret))
	want := strings.Repeat("x", 32<<10-10) + stars + " and correct-horse-batteries and " + stars[len("Bearer "):]
	if body != want || resp.Header.Get("X-Echo") != stars || resp.Header.Get("X-Encoding") != "identity" {
		t.Errorf("got %v …%q", resp.Header, body[len(body)-90:])
	}
	c.Close()
	w.last()
	_, _, entries := w.seen()
	if text := fmt.Sprint(entries); strings.Contains(text, "correct-horse") {
		t.Errorf("recorded %s", text)
	}
}

// TestInjectionRefuses sends what would take the credential elsewhere.
func TestInjectionRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, code string
		status         int
	}{
		{"another Host", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", egress.HostMismatch, 403},
		{"another port", "GET / HTTP/1.1\r\nHost: " + api + ":80\r\n\r\n", egress.HostMismatch, 403},
		{"two Hosts", "GET / HTTP/1.1\r\nHost: " + api + "\r\nHost: evil.example\r\n\r\n", egress.Malformed, 400},
		{"no Host", "GET / HTTP/1.0\r\n\r\n", egress.Malformed, 400},
		{"an absolute URL", "GET http://evil.example/ HTTP/1.1\r\nHost: " + api + "\r\n\r\n", egress.Malformed, 400},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: " + api + "\r\n\r\n", egress.Unsupported, 403},
		{"CONNECT in CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\n\r\n", egress.Malformed, 400},
		{"TE and CL", "POST / HTTP/1.1\r\nHost: " + api + "\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", egress.Malformed, 400},
		{"a header that continues", "GET / HTTP/1.1\r\nHost: " + api + "\r\nX: y\r\n Authorization: z\r\n\r\n", egress.Malformed, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newAPI(t, fixed, func(http.ResponseWriter, *http.Request) { t.Error("a request reached the origin") })
			c, r := w.secure(api)
			send(c, tc.in)
			resp, body := w.answer(r)
			if resp.StatusCode != tc.status || resp.Header.Get("X-Paddock-Refused") != tc.code || strings.Contains(body, "horse") {
				t.Errorf("got %d %v %q", resp.StatusCode, resp.Header, body)
			}
			c.Close()
			if e := w.last(); e.Verdict != egress.Refused || e.Code != tc.code || e.InjectedRequests != 0 || e.Injected != nil {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// TestInjectionNeedsTLS speaks something else where TLS must be, and TLS for
// another name.
func TestInjectionNeedsTLS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   []byte
		code string
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: " + api + "\r\n\r\n"), egress.TLSRequired},
		{"another name", hello(t, "evil.example"), egress.NameMismatch},
		{"no name", hello(t, "11.0.0.1"), egress.NameMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newAPI(t, fixed, func(http.ResponseWriter, *http.Request) { t.Error("a request reached the origin") })
			conn, r := w.tunnel(api + ":443")
			send(conn, string(tc.in))
			half(conn)
			rest(r)
			conn.Close()
			if e := w.last(); e.Verdict != egress.Refused || e.Code != tc.code {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// TestSecretMissing sends no request without its credential.
func TestSecretMissing(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"empty": "", "a line break": "x\r\nEvil: 1", "not ASCII": "caf\u00e9"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAPI(t, func() string { return value }, func(http.ResponseWriter, *http.Request) { t.Error("a request reached the origin") })
			c, r := w.secure(api)
			send(c, "GET / HTTP/1.1\r\nHost: "+api+"\r\n\r\n")
			if resp, body := w.answer(r); resp.StatusCode != 502 || resp.Header.Get("X-Paddock-Failed") != egress.SecretMissing {
				t.Errorf("got %d %q", resp.StatusCode, body)
			}
		})
	}
}

// TestOriginIsVerified gives no credential to whoever answers at the address.
func TestOriginIsVerified(t *testing.T) {
	t.Parallel()
	w := newAPI(t, fixed, func(http.ResponseWriter, *http.Request) { t.Error("a request reached the origin") })
	impostor, _ := tlsServer(t, func(c *tls.Conn) {
		if b, _ := io.ReadAll(c); len(b) > 0 {
			t.Errorf("the impostor got %q", b)
		}
	}, api)
	w.serve("11.0.0.1:443", impostor)
	c, r := w.secure(api)
	send(c, "GET / HTTP/1.1\r\nHost: "+api+"\r\n\r\n")
	if resp, body := w.answer(r); resp.StatusCode != 502 || !strings.Contains(body, "certificate") {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
}

// TestOthersAreOpaque looks at the certificate that a host without a credential
// shows: it is its own. And the proxy's authority can't speak for it.
func TestOthersAreOpaque(t *testing.T) {
	t.Parallel()
	w := newAPI(t, fixed, func(http.ResponseWriter, *http.Request) {})
	server, roots := tlsServer(t, func(c *tls.Conn) {
		b, _ := io.ReadAll(c)
		send(c, string(b))
	}, "other.example")
	w.serve("11.0.0.2:443", server)
	conn, _ := w.tunnel("other.example:443")
	c := tls.Client(conn, &tls.Config{ServerName: "other.example", RootCAs: roots})
	send(c, "GET / HTTP/1.1\r\n\r\n")
	half(c)
	if got, err := io.ReadAll(c); string(got) != "GET / HTTP/1.1\r\n\r\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	conn2, _ := w.tunnel(api + ":443")
	injected := tls.Client(conn2, &tls.Config{ServerName: api, RootCAs: pool(w)})
	if err := injected.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	leaf := injected.ConnectionState().PeerCertificates[0]
	if err := leaf.VerifyHostname("other.example"); err == nil {
		t.Error("the certificate is for another host, too")
	}
	injected.Close()
}

// TestPlainGetsNoSecret asks the same host without TLS.
func TestPlainGetsNoSecret(t *testing.T) {
	t.Parallel()
	w := newAPI(t, fixed, func(http.ResponseWriter, *http.Request) {})
	var got said
	w.serve("11.0.0.1:80", origin(okAnswer, &got))
	w.ask("GET http://" + api + "/ HTTP/1.1\r\nHost: " + api + "\r\n\r\n")
	w.last()
	if strings.Contains(got.String(), "horse") {
		t.Errorf("sent %q", got.String())
	}
}

// TestEarlyAnswer answers before the body has come: the rest of it must not be
// taken for the next request.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	seen := 0
	w := newAPI(t, fixed, func(rw http.ResponseWriter, r *http.Request) {
		seen++
		rw.WriteHeader(413)
	})
	c, r := w.secure(api)
	send(c, "POST / HTTP/1.1\r\nHost: "+api+"\r\nContent-Length: 100\r\n\r\nGET /hidden")
	if resp, _ := w.answer(r); resp.StatusCode != 413 || !resp.Close {
		t.Errorf("got %+v", resp)
	}
	send(c, " HTTP/1.1\r\nHost: "+api+"\r\n\r\n")
	if got := rest(r); got != "" {
		t.Errorf("got %q", got)
	}
	c.Close()
	if e := w.last(); e.InjectedRequests != 1 || seen != 1 {
		t.Errorf("%d requests; recorded %+v", seen, e)
	}
}
