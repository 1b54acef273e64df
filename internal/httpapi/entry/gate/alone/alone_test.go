package alone

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type clock struct{ now time.Time }

func setup(t *testing.T, token string, secure bool) (*Gate, *clock) {
	t.Helper()
	c := &clock{time.Unix(1_700_000_000, 0)}
	g, err := New(Config{Name: "admin", Token: token, Secure: secure, Now: func() time.Time { return c.now }})
	if err != nil {
		t.Fatal(err)
	}
	return g, c
}

func with(cookie *http.Cookie, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	for _, h := range header {
		r.Header.Add("Authorization", h)
	}
	return r
}

func refused(err error) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == paddock.Unauthenticated
}

func TestLink(t *testing.T) {
	g, now := setup(t, "", false)
	first, second := g.Link(), g.Link()
	for name, code := range map[string]string{"none": "", "another": "x", "replaced": first, "long": second + strings.Repeat("x", 1000)} {
		if _, err := g.Login(t.Context(), "", gate.Proof{Code: code}); !refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := g.Login(t.Context(), "", gate.Proof{Code: second})
	if err != nil || s.Caller.Role != gate.Admin {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := g.Login(t.Context(), "", gate.Proof{Code: second}); !refused(err) {
		t.Errorf("a second time: %v", err)
	}
	late := g.Link()
	now.now = now.now.Add(LinkLasts)
	if _, err := g.Login(t.Context(), "", gate.Proof{Code: late}); !refused(err) {
		t.Errorf("after an hour: %v", err)
	}
	if _, err := new(Gate).Login(t.Context(), "", gate.Proof{}); !refused(err) {
		t.Errorf("without a link: %v", err)
	}
}

func TestSession(t *testing.T) {
	g, now := setup(t, "", true)
	if c, err := g.Identify(with(nil)); err != nil || !c.Nobody() {
		t.Errorf("%+v, %v", c, err)
	}
	login := func() *http.Cookie {
		s, err := g.Login(t.Context(), "", gate.Proof{Code: g.Link()})
		if err != nil {
			t.Fatal(err)
		}
		return s.Cookie
	}
	a := login()
	if a.Name != "__Host-paddock_session" || !a.Secure || !a.HttpOnly || a.SameSite != http.SameSiteStrictMode || a.Path != "/" || a.Domain != "" || len(a.Value) != 43 {
		t.Errorf("%+v", a)
	}
	if c, err := g.Identify(with(a)); err != nil || c.Name != "admin" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, r := range map[string]*http.Request{
		"another value": with(&http.Cookie{Name: a.Name, Value: a.Value + "x"}),
		"two cookies":   func() *http.Request { r := with(a); r.AddCookie(a); return r }(),
		"no token here": with(nil, "Bearer "), "basic": with(a, "Basic eDp5"),
	} {
		if _, err := g.Identify(r); !refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := g.Identify(with(&http.Cookie{Name: "paddock_session", Value: a.Value})); err != nil || !c.Nobody() {
		t.Errorf("a cookie without its prefix: %+v, %v", c, err)
	}
	b := login()
	gone, err := g.Logout(with(a))
	if err != nil || gone.MaxAge >= 0 || gone.Name != a.Name {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := g.Identify(with(a)); !refused(err) {
		t.Errorf("after logging out: %v", err)
	}
	for range int(SessionLasts/SessionIdle) * 2 { // used all the time, it ends all the same
		now.now = now.now.Add(SessionIdle/2 - time.Second)
		if _, err := g.Identify(with(b)); err != nil {
			t.Fatal(err)
		}
	}
	now.now = now.now.Add(time.Minute)
	if _, err := g.Identify(with(b)); !refused(err) {
		t.Errorf("after a week: %v", err)
	}
	c := login()
	now.now = now.now.Add(SessionIdle)
	if _, err := g.Identify(with(c)); !refused(err) {
		t.Errorf("unused for long: %v", err)
	}
	for range mostSessions + 5 {
		login()
	}
	if len(g.sessions) != mostSessions {
		t.Errorf("%d sessions", len(g.sessions))
	}
}

func TestToken(t *testing.T) {
	token := strings.Repeat("t", 40)
	g, _ := setup(t, token, false)
	if c, err := g.Identify(with(nil, "Bearer "+token)); err != nil || c.Role != gate.Admin || !c.Until.IsZero() {
		t.Errorf("%+v, %v", c, err)
	}
	for _, header := range [][]string{{"Bearer " + token + "x"}, {token}, {"bearer" + token}, {"Bearer " + token, "Bearer " + token}, {""}} {
		if _, err := g.Identify(with(nil, header...)); !refused(err) {
			t.Errorf("%q: %v", header, err)
		}
	}
	for _, bad := range []string{"short", strings.Repeat("x", 300)} {
		if _, err := New(Config{Name: "a", Token: bad}); err == nil {
			t.Errorf("a token of %d characters", len(bad))
		}
	}
}
