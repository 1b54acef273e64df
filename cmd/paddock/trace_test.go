//go:build linux

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A server sends what it traces to the collector that its configuration names, by OTLP:
// from the request to the end of its run, without what was asked for. A caller who says to
// be part of a trace is only pointed to.
func TestServeTraces(t *testing.T) {
	y := newYard(t)
	got := make(chan *wire.Span, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(text, &m) != nil || r.Header.Get("X-Key") != "of the collector" {
			t.Errorf("%v, %v", err, r.Header)
		}
		for _, word := range []string{"a-secret-word", "PADDOCK", "127.0.0.1"} {
			if strings.Contains(string(text), word) {
				t.Errorf("it sends %s", word)
			}
		}
		for _, s := range m.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			got <- s
		}
	}))
	t.Cleanup(srv.Close)
	config, keys := filepath.Join(y.work, "server.yaml"), filepath.Join(y.work, "headers")
	if err := os.WriteFile(keys, []byte("# of the collector\nX-Key: of the collector\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("version: 1\ntraces: {endpoint: '"+srv.URL+"/v1/traces', header_file: "+keys+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := y.serve("--config", config)
	s.enter()
	const theirs = "0123456789abcdef0123456789abcdef"
	for _, from := range []string{"00-" + theirs + "-0123456789abcdef-00", strings.Repeat("00-"+theirs, 100)} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/runs", strings.NewReader(`{"argv": ["prog", "say", "a-secret-word"]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Traceparent", from)
		r.AddCookie(s.cookie)
		a, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.StatusCode != http.StatusAccepted && a.StatusCode != http.StatusCreated && a.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", a.StatusCode, text)
		}
	}
	seen := map[string]*wire.Span{}
	for door := 0; door < 2 || seen["run"] == nil || seen["seal"] == nil; {
		select {
		case one := <-got:
			if one.GetName() == "POST /api/v1/runs" {
				if door++; len(one.GetLinks()) == 1 {
					seen["linked"] = one
				}
			}
			seen[one.GetName()] = one
			if string(one.GetTraceId()) == theirs {
				t.Errorf("the caller's trace is taken over: %v", one)
			}
		case <-time.After(5 * time.Minute): // if it never comes
			t.Fatalf("seen are %v", seen)
		}
	}
	if l := seen["linked"]; l == nil || l.GetParentSpanId() != nil || l.GetLinks()[0].GetTraceId()[0] != 1 {
		t.Errorf("the link is %v", l)
	}
	for _, name := range []string{"decide", "enqueue", "queue", "start", "program", "seal"} {
		if seen[name] == nil {
			t.Errorf("no span %s", name)
		}
	}
	s.end()
	log, err := os.ReadFile(s.log)
	if err != nil || !strings.Contains(string(log), "trace_id=") || !strings.Contains(string(log), "trace="+theirs) {
		t.Errorf("the log has no ids (%v): %s", err, log)
	}
}

// Where traces can't go, the server says so before it serves.
func TestServeTracesFaults(t *testing.T) {
	y := newYard(t)
	open := filepath.Join(y.work, "open")
	if err := os.WriteFile(open, []byte("X-Key: word\n"), 0o644); err != nil { //nolint:gosec // that is the fault
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{endpoint: 'http://collector.example:4318/v1/traces'}": "it must be https",
		"{endpoint: 'https://u:p@collector.example/v1/traces'}": "is wanted",
		"{endpoint: here}": "is wanted",
		"{sample: 1}":      "endpoint",
		"{endpoint: 'https://c.example/', sample: 7}":                 "from 0.0001 to 1",
		"{endpoint: 'https://c.example/', incoming: believe}":         "`parent`",
		"{endpoint: 'https://c.example/', ca: here}":                  "an absolute path",
		"{endpoint: 'https://c.example/', header_file: " + open + "}": "header_file",
		"{endpoint: 'https://c.example/', ca: /nowhere/ca.pem}":       "traces.ca",
		"{endpoint: environment}":                                     "OTEL_EXPORTER_OTLP_ENDPOINT",
	} {
		config := filepath.Join(y.work, "server.yaml")
		if err := os.WriteFile(config, []byte("version: 1\ntraces: "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := y.command("serve", "--listen", "127.0.0.1:0", "--config", config).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, without %q:\n%s", text, err, want, out)
		}
	}
}
