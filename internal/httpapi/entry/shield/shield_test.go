package shield

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func shield(t *testing.T, change func(*Config)) (*Shield, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	cfg := Config{Loopback: true, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}
	change(&cfg)
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, &log
}

// What a client says of where it comes from counts only as far as trusted proxies say it.
func TestAddress(t *testing.T) {
	s, _ := shield(t, func(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "127.0.0.1, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "127.0.0.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"},
		{"10.0.0.1:5", "198.51.100.7, nonsense", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:5", "2001:db8::1", "2001:db8::1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := s.address(r); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestNames(t *testing.T) {
	s, _ := shield(t, func(c *Config) { c.Hosts = []string{"paddock.example", "192.0.2.1"} })
	for host, ok := range map[string]bool{
		"localhost": true, "LocalHost:80": true, "127.0.0.1:1": true, "127.9.9.9": true, "[::1]:80": true, "[::1]": true, "localhost.": true,
		"paddock.example": true, "PADDOCK.example:8443": true, "192.0.2.1": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "[::1%lo]": false, "192.0.2.2": false, "0": false, "0.0.0.0": false, "2130706433": false,
	} {
		if s.ours(host) != ok {
			t.Errorf("%q: %v", host, !ok)
		}
	}
	for host, want := range map[string]int{"paddock.example": http.StatusNoContent, "evil.example": http.StatusMisdirectedRequest, "": http.StatusMisdirectedRequest} {
		r := httptest.NewRequest(http.MethodGet, "/x", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("to %q: %d", host, w.Code)
		}
	}
	s.cfg.Loopback = false
	if s.ours("localhost") {
		t.Error("localhost is a name of a server that others reach")
	}
}

// Every answer has its headers: what is refused before anybody looks at it, what is wrong
// with us, and what goes on for long.
func TestHeaders(t *testing.T) {
	s, _ := shield(t, func(c *Config) { c.Hosts = []string{"paddock.example"} })
	door := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("fire")
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ":\n\n")
			_ = http.NewResponseController(w).Flush()
		default:
			http.NotFound(w, r)
		}
	}))
	for what, one := range map[string]struct {
		method, path, host string
		change             func(*http.Request)
		status             int
	}{
		"nothing there": {"GET", "/none", "", nil, 404},
		"a stream":      {"GET", "/stream", "", nil, 200},
		"a panic":       {"GET", "/panic", "", nil, 500},
		"another host":  {"GET", "/none", "evil.example", nil, 421},
		"too long":      {"GET", "/" + strings.Repeat("a", mostURL), "", nil, 414},
		"another page":  {"POST", "/none", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"a method":      {"BREW", "/none", "", nil, 501},
		"dots":          {"GET", "/a/../b", "", nil, 404},
	} {
		r := httptest.NewRequest(one.method, one.path, nil)
		if r.Host = "paddock.example"; one.host != "" {
			r.Host = one.host
		}
		if one.change != nil {
			one.change(r)
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		if w.Code != one.status {
			t.Errorf("%s: %d", what, w.Code)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		} {
			if got := w.Result().Header.Values(name); len(got) != 1 || got[0] != want { // of what was sent
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
	}
}

// Browsers that reach us by TLS are told to always do so, and only they.
func TestTransport(t *testing.T) {
	for secure, want := range map[bool]string{true: "max-age=63072000; includeSubDomains", false: ""} {
		s, _ := shield(t, func(c *Config) { c.Secure = secure })
		w := httptest.NewRecorder()
		s.headers(w.Header())
		if got := w.Header().Get("Strict-Transport-Security"); got != want {
			t.Errorf("%v: %q", secure, got)
		}
	}
}

// A page of the public address may send requests though the proxy changes what we see.
func TestOrigin(t *testing.T) {
	s, _ := shield(t, func(c *Config) { c.Origins, c.Hosts = []string{"https://a.example"}, []string{"inner"} })
	for origin, want := range map[string]int{"https://a.example": 204, "https://b.example": 403, "null": 403, "http://a.example": 403} {
		r := httptest.NewRequest(http.MethodPost, "http://inner/x", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d", origin, w.Code)
		}
	}
}

// A panic is a fault that only the log tells of; half an answer is cut off.
func TestPanic(t *testing.T) {
	s, log := shield(t, func(*Config) {})
	server := httptest.NewUnstartedServer(s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
		}
		panic("the cellar is on fire")
	})))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	defer server.Close()
	a, err := http.Get(server.URL + "/whole")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read to its end
	if err != nil || a.StatusCode != http.StatusInternalServerError || strings.Contains(string(text), "cellar") {
		t.Errorf("%d %s %v", a.StatusCode, text, err)
	}
	if a, err = http.Get(server.URL + "/half"); err == nil {
		_, err = io.ReadAll(a.Body)
		_ = a.Body.Close() // cut off
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("half an answer: %v", err)
	}
	server.Close()
	if strings.Count(log.String(), `fault="a panic: the cellar is on fire"`) != 2 {
		t.Error(log.String())
	}
}

// The log names the trace that a request says it is part of, and nothing that only looks
// like one.
func TestTraceOf(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                            id,
		"cc-" + id + "-" + span + "-01-what-a-later-version-has":   id,
		"00-" + id + "-" + span + "-01-more":                       "",
		"ff-" + id + "-" + span + "-01":                            "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":           "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":       "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":         "",
		"00-" + id + span + "-01-00-00-00-00-00-00-00-00-00-00-00": "",
		"00-" + strings.Repeat("a", 3000) + "-" + span + "-01":     "",
		"\n" + strings.Repeat(" ", 60):                             "",
		"":                                                         "",
	} {
		r := &http.Request{Header: http.Header{"Traceparent": {header}}}
		if got := traceOf(r); got != want {
			t.Errorf("%.60q: %q", header, got)
		}
	}
	if got := traceOf(&http.Request{Header: http.Header{"Traceparent": {"00-" + id + "-" + span + "-01", "x"}}}); got != "" {
		t.Errorf("two headers: %q", got)
	}
}
