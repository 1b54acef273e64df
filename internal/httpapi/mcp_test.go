//go:build linux

package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/agents"
	"paddock/internal/httpapi/entry/gate"
)

// A pretended MCP server says who asks, and what he may.
type pretended struct {
	mu    sync.Mutex
	asked int
}

func (p *pretended) Serve(c *entry.Call) {
	who, may := c.Caller.Self(), c.Caller.May
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	control := http.NewResponseController(c) // streams need all of it
	if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Now().Add(time.Hour))); err != nil {
		_, _ = fmt.Fprintf(c, "deadlines: %v", err)
	}
	defer func() {
		if err := control.Flush(); err != nil {
			_, _ = fmt.Fprintf(c, "pieces: %v", err)
		}
	}()
	_, _ = fmt.Fprintf(c, "%s %s %s start=%t git=%t still=%v", c.Method, who.Kind, who.ID, may(auth.RunsStart), may(auth.GitRead), c.Still())
}

func (p *pretended) reached() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Who asks at /mcp is who showed a token, as everywhere, and never more than himself.
func TestMCPDoor(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) {
		d, _ := c.Gate.(*desk)
		d.accounts["tool"] = gate.Caller{Name: "bob", Role: gate.Operator, Verbs: []gate.Verb{gate.MCPUse, gate.RunsRead}}
	})
	for who, want := range map[string]string{
		"admin": "POST user user:admin start=true git=true still=<nil>", "viewer": "POST user user:viewer start=false git=false still=<nil>",
		"tool": "POST user user:bob start=false git=false still=<nil>",
	} {
		if a := s.do(http.MethodPost, "/mcp", who, "{}").into(t, http.StatusOK, nil); string(a.body) != want {
			t.Errorf("%s: %s", who, a.body)
		}
	}
	before := s.mcp.reached()
	for name, c := range map[string]struct {
		who, path, origin, host string
		status                  int
		challenge               []string
	}{
		"nobody":       {"", "/mcp", "", "", 401, []string{`resource_metadata="` + s.url + `/.well-known/oauth-protected-resource/mcp"`, `scope="mcp.use"`}},
		"a wrong one":  {"guess", "/mcp", "", "", 401, []string{`error="invalid_token"`, "resource_metadata="}},
		"another's":    {"scoped", "/mcp", "", "", 403, []string{`error="insufficient_scope"`, `scope="mcp.use"`}},
		"a cookie":     {"", "/mcp", "", "cookie", 401, []string{"resource_metadata="}},
		"a page":       {"bob", "/mcp", "https://evil.example", "", 403, nil},
		"no page":      {"bob", "/mcp", "null", "", 403, nil},
		"another name": {"bob", "/mcp", "", "evil.example", 421, nil},
		"in the URL":   {"bob", "/mcp?access_token=bob", "", "", 422, nil},
		"below":        {"bob", "/mcp/", "", "", 404, nil},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			a := s.do(method, c.path, c.who, "", func(r *http.Request) {
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if c.host == "cookie" {
					r.AddCookie(&http.Cookie{Name: "session", Value: "bob"})
				} else if c.host != "" {
					r.Host = c.host
				}
			})
			if a.StatusCode != c.status && (method != http.MethodDelete || c.status != 404) {
				t.Errorf("%s %s: %d %s", method, name, a.StatusCode, a.body)
			}
			for _, one := range c.challenge {
				if got := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") || !strings.Contains(got, one) {
					t.Errorf("%s %s: WWW-Authenticate: %s", method, name, got)
				}
			}
		}
	}
	if n := s.mcp.reached(); n != before {
		t.Errorf("%d of them were let in", n-before)
	}
	s.do(http.MethodPost, "/mcp", "bob", "{}", func(r *http.Request) { r.Header.Set("Origin", s.url) }).into(t, http.StatusOK, nil)
	for _, origins := range [][]string{{s.url, "https://evil.example"}, {s.url, s.url}} { // which is whose?
		s.do(http.MethodPost, "/mcp", "bob", "{}", func(r *http.Request) { r.Header["Origin"] = origins }).problem(t, http.StatusForbidden, paddock.Forbidden)
	}
	var about agents.Resource
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		s.get(path, "").into(t, http.StatusOK, &about)
		if about.Resource != s.url+"/mcp" || about.Methods[0] != "header" || about.Scopes[0] != "mcp.use" || about.Docs == "" {
			t.Errorf("%+v", about)
		}
	}
	if log := s.log.String(); !strings.Contains(log, `route="POST /mcp"`) || strings.Contains(log, "access_token") {
		t.Errorf("the log:\n%s", log)
	}
}
