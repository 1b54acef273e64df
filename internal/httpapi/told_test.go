//go:build linux

package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
)

// Who lacks a second factor is told that, and not that his credential is none.
func TestSecondFactorIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	now := store.At(time.Now())
	user := s.add(t, "carol", gate.Approver)
	who := auth.OfSession(user, store.Session{ID: "s00000000000000000000000001", Created: now}, time.Minute, now)
	s.desk.mu.Lock()
	s.desk.accounts["carol"] = gate.Caller{Name: "carol", Role: gate.Approver, Who: who, Verbs: []gate.Verb{gate.WhoAmI}}
	s.desk.mu.Unlock()
	s.do(http.MethodPost, "/api/v1/approvals/none/votes", "carol", "{}").problem(t, http.StatusForbidden, paddock.SecondFactorRequired)
	if p := s.get("/api/v1/whoami", "scoped").problem(t, http.StatusForbidden, paddock.Forbidden); !strings.Contains(p.Detail, "token isn't good") {
		t.Errorf("%+v", p)
	}
}

// What isn't of use now says when to ask again.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) {
		c.Policy = func() (Policy, error) { return Policy{}, paddock.Refused(paddock.NoPolicy, "No policy applies here.") }
		c.Ready = func(context.Context) []Check { return []Check{{Name: "state"}} }
	})
	a := s.get("/api/v1/policy", "admin")
	if a.problem(t, http.StatusServiceUnavailable, paddock.NoPolicy); a.Header.Get("Retry-After") == "" {
		t.Errorf("%v", a.Header)
	}
	if a := s.get("/readyz", "").into(t, http.StatusServiceUnavailable, nil); a.Header.Get("Retry-After") == "" {
		t.Errorf("%v", a.Header)
	}
}
