//go:build linux

package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate/profile"
)

// Admins are told what the server is made of, and its numbers say it.
func TestBuild(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Build = Build{Revision: "abc", Modified: true, Go: "go1", Platform: "linux/x"} })
	var h Health
	s.get("/readyz", "admin").into(t, http.StatusOK, &h)
	if h.Build == nil || *h.Build != (Build{"abc", true, "go1", "linux/x"}) || h.Version != "test" {
		t.Errorf("%+v", h)
	}
	for _, as := range []string{"", "operator"} {
		if a := s.get("/readyz", as); strings.Contains(string(a.body), "abc") {
			t.Errorf("%q is told %s", as, a.body)
		}
	}
	if a := s.get("/metrics", "admin"); !strings.Contains(string(a.body), `paddock_build_info{version="test",revision="abc",modified="true",go="go1"} 1`) {
		t.Errorf("%s", a.body)
	}
}

// Profiles are what go tool pprof reads, for admins, and off unless they are turned on.
func TestProfiles(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{"heap", "goroutine", "allocs", "profile?seconds=1"} {
		a := s.get("/debug/pprof/"+path, "admin").into(t, http.StatusOK, nil)
		if !bytes.HasPrefix(a.body, []byte{0x1f, 0x8b}) {
			t.Errorf("%s: %.20q", path, a.body)
		}
	}
	if a := s.get("/debug/pprof/goroutine?debug=1", "admin").into(t, http.StatusOK, nil); !strings.HasPrefix(string(a.body), "goroutine profile:") {
		t.Errorf("%.100q", a.body)
	}
	for _, query := range []string{"heap?debug=3", "heap?debug=-1", "profile?seconds=46", "profile?seconds=-1", "trace?seconds=11", "heap?x=1", "heap?debug=999999999999999999999"} {
		s.get("/debug/pprof/"+query, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	for _, name := range []string{"cmdline", "symbol", "mutex", strings.Repeat("a", 300)} {
		s.get("/debug/pprof/"+name, "admin").problem(t, http.StatusNotFound, paddock.NotFound)
	}
	s.get("/debug/pprof/heap", "operator").problem(t, http.StatusForbidden, paddock.Forbidden)
	off := open(t, func(c *Config) { c.More = func(in *entry.Entrance) { profile.Routes(in, false) } })
	if p := off.get("/debug/pprof/heap", "admin").problem(t, http.StatusNotFound, paddock.NotFound); p.Refusal == nil || !strings.Contains(p.Refusal.Hint, "pprof: true") {
		t.Errorf("%+v", p)
	}
}
