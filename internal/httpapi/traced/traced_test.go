package traced

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
	"paddock/internal/trace/wanted"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Headers are read strictly, and what is wrong with a line isn't told with what it says.
func TestHeaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "headers")
	for text, good := range map[string]bool{
		"Authorization: Bearer a b\n\n# no\nX-Key:1\n": true, "": true, "no-colon-secret": false, ": secret": false, "Key:": false, "Ke y: secret": false, "Key: sec\x00ret": false, "Key: secrét": false, "Key: secret\r": true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := headers(path)
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "secr") {
			t.Errorf("%q: %v, %v", text, h, err)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", most+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := headers(path); err == nil {
		t.Error("a file that is too long is read")
	}
	h := http.Header{}
	if err := listed(h, "a=b%20c, d = e,"); err != nil || h.Get("A") != "b c" || h.Get("D") != "e" {
		t.Errorf("%v, %v", h, err)
	}
	for _, text := range []string{"a", "=b", "a=%zz", "a=%0d%0aB:c"} {
		if err := listed(http.Header{}, text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	by := wanted.Sender{Env: func(string) (string, bool) { return "", false }, Now: time.Now, Warn: func(error) {}}
	if got, err := Open(t.Context(), wanted.Settings{}, by); err != nil || got.Tracer != nil || got.Counts != nil {
		t.Errorf("nothing wanted: %+v, %v", got, err)
	} else {
		got.Close()
	}
	if _, err := Open(t.Context(), wanted.Settings{Endpoint: wanted.Environment}, by); err == nil {
		t.Error("an environment that says nothing")
	}
	by.Env = func(name string) (string, bool) { return "http://127.0.0.1:1", name == "OTEL_EXPORTER_OTLP_ENDPOINT" }
	got, err := Open(t.Context(), wanted.Settings{Endpoint: wanted.Environment, Sample: 1}, by)
	if err != nil || got.Tracer == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Close()
	if a := authority("https://C.example/v1/traces"); a[0] != "c.example:443" {
		t.Error(a)
	}
}
