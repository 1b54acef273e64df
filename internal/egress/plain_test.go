package egress_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"paddock/internal/egress"
)

// A said is what an origin was sent; it may still be writing it.
type said struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// origin answers one request with what a function says, and keeps the bytes
// that it got.
func origin(answer string, got *said) func(net.Conn) {
	return func(conn net.Conn) {
		r := bufio.NewReader(io.TeeReader(conn, got))
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		rest(req.Body)
		send(conn, answer)
	}
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func newPlain(t *testing.T, answer string) (*world, *said) {
	t.Helper()
	w := newWorld(t, []string{site + ":80", site + ":8080", "[2606::1]:80"}, nil)
	w.host(site, "11.0.0.1")
	var got said
	for _, at := range []string{"11.0.0.1:80", "11.0.0.1:8080", "[2606::1]:80"} {
		w.serve(at, origin(answer, &got))
	}
	return w, &got
}

// TestPlainRequest compares what the origin is sent, to the byte.
func TestPlainRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"as it is", "GET http://site.example/a%2Fb?c=d HTTP/1.1\r\nHost: site.example\r\nUser-Agent: x\r\n\r\n",
			"GET /a%2Fb?c=d HTTP/1.1\r\nHost: site.example\r\nUser-Agent: x\r\nConnection: close\r\n\r\n"},
		{"nothing is added", "GET http://site.example HTTP/1.0\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n"},
		{"the host is rewritten", "GET http://SITE.example.:8080/ HTTP/1.1\r\nHost: Site.Example:8080\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: site.example:8080\r\nConnection: close\r\n\r\n"},
		{"an address", "GET http://[2606:0::1]/ HTTP/1.1\r\nHost: [2606::1]\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: [2606::1]\r\nConnection: close\r\n\r\n"},
		{"hop by hop", "GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n" +
			"Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nTrailer: X\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nX-Kept: 1\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: site.example\r\nX-Kept: 1\r\nConnection: close\r\n\r\n"},
		{"a body", "POST http://site.example/ HTTP/1.1\r\nHost: site.example\r\nContent-Length: 5\r\n\r\nhelloGET http://evil/ HTTP/1.1\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: site.example\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"},
		{"chunks", "POST http://site.example/ HTTP/1.1\r\nHost: site.example\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\nGET http://evil/ HTTP/1.1\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: site.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, got := newPlain(t, okAnswer)
			resp, body := w.ask(tc.in)
			if resp.StatusCode != 200 || body != "ok" || !resp.Close {
				t.Errorf("got %v %q", resp, body)
			}
			e := w.last()
			if got.String() != tc.want {
				t.Errorf("sent\n%q, want\n%q", got.String(), tc.want)
			}
			if e.Protocol != "http" || e.Verdict != egress.Allowed || e.BytesOut != int64(len(tc.want)) || e.BytesIn != int64(len(okAnswer)) {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

func TestPlainAnswer(t *testing.T) {
	t.Parallel()
	get := "GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n"
	for _, tc := range []struct{ name, in, answer, want string }{
		{"a redirect is the client's business", get, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"},
		{"until the end", get, "HTTP/1.1 200 OK\r\n\r\nuntil the end",
			"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nd\r\nuntil the end\r\n0\r\n\r\n"},
		{"until the end, for an old client", "GET http://site.example/ HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok"},
		{"no body for HEAD", "HEAD http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\n"},
		{"hop by hop", get, "HTTP/1.1 200 OK\r\nConnection: X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 1\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		{"compressed as it is", get, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, _ := newPlain(t, tc.answer)
			_, r := w.connect(tc.in)
			got, err := io.ReadAll(r)
			if string(got) != tc.want || err != nil {
				t.Errorf("got\n%q, %v, want\n%q", got, err, tc.want)
			}
			w.last()
		})
	}
}

// TestPlainBroken is about origins that don't do what they should.
func TestPlainBroken(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"an upgrade that nobody asked for": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"nothing":                          "",
		"not HTTP":                         "SSH-2.0-x\r\n",
		"a header bomb":                    "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<20) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newPlain(t, answer)
			resp, body := w.ask("GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			if resp.StatusCode != 502 || resp.Header.Get("X-Paddock-Failed") != egress.OriginFailed {
				t.Errorf("got %d %q", resp.StatusCode, body)
			}
			if e := w.last(); e.Verdict != egress.Failed || e.Code != egress.OriginFailed {
				t.Errorf("recorded %+v", e)
			}
		})
	}
	t.Run("an answer that breaks off", func(t *testing.T) {
		t.Parallel()
		w, _ := newPlain(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
		_, r := w.connect("GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%q looks complete", b)
		}
		if e := w.last(); e.Code != egress.OriginFailed {
			t.Errorf("recorded %+v", e)
		}
	})
}

// TestBadChunks ends a request whose body can't be read; the origin never gets
// the end of it.
func TestBadChunks(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"xyz\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "-1\r\n", "fffffffffffffffff\r\n", "0x5\r\nhello\r\n0\r\n\r\n"} {
		w, got := newPlain(t, okAnswer)
		conn, r := w.connect("POST http://site.example/ HTTP/1.1\r\nHost: site.example\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
		half(conn)
		all, _ := io.ReadAll(r)
		conn.Close()
		if e := w.last(); e.Verdict != egress.Failed || strings.Contains(string(all), "200 OK") || strings.HasSuffix(got.String(), "0\r\n\r\n") {
			t.Errorf("%q: got %q, recorded %+v", body, all, e)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	t.Parallel()
	w, got := newPlain(t, okAnswer)
	conn, r := w.connect("POST http://site.example/ HTTP/1.1\r\nHost: site.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	if line, err := r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = r.ReadString('\n')
	send(conn, "hello")
	if resp, body := w.answer(r); resp.StatusCode != 200 || body != "ok" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	w.last()
	if strings.Contains(got.String(), "Expect") || !strings.HasSuffix(got.String(), "hello") {
		t.Errorf("sent %q", got.String())
	}
}

// TestExpectRefused doesn't invite a body that would go nowhere.
func TestExpectRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, nil)
	resp, _ := w.ask("POST http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	if resp.StatusCode != 403 {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// TestStreaming sees each part of an answer before the next is sent.
func TestStreaming(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{site + ":80"}, nil)
	w.host(site, "11.0.0.1")
	next := make(chan struct{})
	w.serve("11.0.0.1:80", func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		send(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, part := range []string{"one\n", "two\n"} {
			send(conn, "4\r\n"+part+"\r\n")
			<-next
		}
		send(conn, "0\r\n\r\n")
	})
	_, r := w.connect("GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	for _, want := range []string{"one\n", "two\n"} {
		if got, err := body.ReadString('\n'); got != want || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
}

// TestGoClient uses net/http's own proxy support, for redirects from a listed
// host to one that isn't.
func TestGoClient(t *testing.T) {
	t.Parallel()
	w, _ := newPlain(t, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n")
	client := w.client(nil)
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://site.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 403 || resp.Header.Get("X-Paddock-Refused") != egress.NotListed || resp.Request.URL.Host != "169.254.169.254" {
		t.Errorf("got %d from %s", resp.StatusCode, resp.Request.URL)
	}
}
