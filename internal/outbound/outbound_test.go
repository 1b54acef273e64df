package outbound_test

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/outbound"
)

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// What a name or an address leads to inside isn't reached, however it is written.
func TestInside(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	authority := strings.TrimPrefix(srv.URL, "https://")
	port := authority[strings.LastIndex(authority, ":"):]
	if body, err := get(t, outbound.Client([]string{authority}, roots), srv.URL); err != nil || body != "inside" {
		t.Errorf("what is listed: %q, %v", body, err)
	}
	c := outbound.Client([]string{"127.0.0.1:1", "example.org" + port}, roots)
	for _, url := range []string{
		srv.URL, "https://localhost" + port, "https://[::1]" + port, "https://[::ffff:127.0.0.1]" + port, "https://2130706433" + port, "https://0x7f000001" + port,
		"https://127.1" + port, "https://0177.0.0.1" + port, "https://0.0.0.0" + port, "https://169.254.169.254/latest/meta-data/", "https://10.0.0.1", "https://[fd00::1]", "https://[64:ff9b::7f00:1]" + port,
	} {
		if body, err := get(t, c, url); err == nil {
			t.Errorf("%s answers %q", url, body)
		}
	}
}

func TestWithoutTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") }))
	t.Cleanup(srv.Close)
	authority := strings.TrimPrefix(srv.URL, "http://")
	if body, err := get(t, outbound.Client([]string{authority}, nil), srv.URL); err != nil || body != "plain" {
		t.Errorf("the loopback that is listed: %q, %v", body, err)
	}
	for _, url := range []string{srv.URL, "http://example.org", "ftp://" + authority} {
		if _, err := get(t, outbound.Client([]string{"example.org:80"}, nil), url); err == nil || !strings.Contains(err.Error(), "isn't asked without TLS") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/exact":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20+1))
		}
	}))
	t.Cleanup(srv.Close)
	c := outbound.Client([]string{strings.TrimPrefix(srv.URL, "http://")}, nil)
	if _, err := get(t, c, srv.URL+"/redirect"); err == nil || !strings.Contains(err.Error(), "redirects aren't followed") {
		t.Errorf("%v", err)
	}
	if body, err := get(t, c, srv.URL+"/exact"); err != nil || len(body) != 1<<20 {
		t.Errorf("%d, %v", len(body), err)
	}
	if _, err := get(t, c, srv.URL+"/long"); !errors.Is(err, outbound.ErrTooLong) {
		t.Errorf("%v", err)
	}
}
