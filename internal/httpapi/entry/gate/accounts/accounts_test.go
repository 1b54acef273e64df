package accounts_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/store"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type recorder struct{}

func (recorder) Record(context.Context, auth.Event) error { return nil }

const good = "correct horse battery"

func setup(t *testing.T, secure bool) (*desk.Desk, gate.Gate) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	now := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	d, err := desk.New(desk.Config{Store: s, Recorder: recorder{}, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return d, accounts.New(d, secure, now, nil)
}

func request(t *testing.T, cookie *http.Cookie, bearer string) *http.Request {
	t.Helper()
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, here), http.MethodGet, "/api/v1/runs", nil)
	r.RemoteAddr = "127.0.0.1:4000"
	if cookie != nil {
		r.AddCookie(cookie)
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return r
}

func refused(t *testing.T, err error, code paddock.Code) {
	t.Helper()
	var r *paddock.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		d, g := setup(t, secure)
		word, _, err := d.FirstLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Login(t.Context(), gate.From{Addr: "127.0.0.1"}, gate.Proof{Code: word, Name: "admin"})
		refused(t, err, paddock.InvalidRequest)
		in, err := g.Login(t.Context(), gate.From{Addr: "127.0.0.1"}, gate.Proof{Code: word})
		if err != nil || in.Caller.Name != "admin" || in.Caller.Role != gate.Admin || in.Cookie.Secure != secure || in.Caller.Until.IsZero() {
			t.Fatalf("%+v, %v", in, err)
		}
		if !in.Caller.May(gate.PolicyRead) || !in.Caller.May(gate.Logout) || in.Caller.May(gate.ApprovalsVote) {
			t.Errorf("the admin may %v", in.Caller.Verbs)
		}
		_, err = g.Login(t.Context(), gate.From{Addr: "127.0.0.1"}, gate.Proof{Code: word})
		refused(t, err, paddock.Unauthenticated)
		c, err := g.Identify(request(t, in.Cookie, ""))
		if err != nil || c.Name != "admin" {
			t.Errorf("%+v, %v", c, err)
		}
		if c, err := g.Identify(request(t, nil, "")); err != nil || !c.Nobody() {
			t.Errorf("%+v, %v", c, err)
		}
		// What comes from elsewhere unencrypted, or came to another address than this machine's
		// own to itself, brings no session.
		from, to := request(t, in.Cookie, ""), request(t, in.Cookie, "")
		from.RemoteAddr = "192.0.2.1:4000"
		to = to.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 8080}))
		for _, r := range []*http.Request{from, to} {
			if c, err := g.Identify(r); err != nil || c.Nobody() == secure {
				t.Errorf("secure: %t: from %s: %+v, %v", secure, r.RemoteAddr, c, err)
			}
			if secure {
				continue
			}
			if _, err := g.Logout(r); err != nil {
				t.Error(err)
			}
		}
		gone, err := g.Logout(request(t, in.Cookie, ""))
		if err != nil || gone.MaxAge >= 0 || gone.Name != in.Cookie.Name {
			t.Errorf("%+v, %v", gone, err)
		}
		_, err = g.Identify(request(t, in.Cookie, ""))
		refused(t, err, paddock.Unauthenticated)
		_, err = g.Logout(request(t, in.Cookie, ""))
		refused(t, err, paddock.Unauthenticated)
	}
}

func TestPasswordAndToken(t *testing.T) {
	t.Parallel()
	d, g := setup(t, false)
	code, _, err := d.People.Invite(t.Context(), auth.Local(), auth.Operator)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.People.Accept(t.Context(), desk.From{}, code, "ann", good)
	if err != nil {
		t.Fatal(err)
	}
	in, err := g.Login(t.Context(), gate.From{Addr: "127.0.0.1:4000", Device: "Firefox\x00" + strings.Repeat("é", 5000)}, gate.Proof{Name: "ann", Password: good})
	if err != nil || in.Caller.Self() != (paddock.Principal{Kind: paddock.User, ID: "user:ann"}) || !in.Caller.May(gate.RunsStart) || in.Caller.May(gate.PolicyRead) {
		t.Fatalf("%+v, %v", in, err)
	}
	if list, err := d.Sessions(t.Context(), in.Caller.Who, in.Caller.Who.User); err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(s store.Session) bool { return s.Device == "Firefox" && s.Address == "127.0.0.1" }) {
		t.Errorf("the list of devices: %+v, %v", list, err)
	}
	word, _, err := d.Tokens.Make(t.Context(), e.Who, desk.TokenRequest{Name: "ci", Scopes: []string{"runs.list"}, Workspaces: []string{"*"}, Lasts: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Identify(request(t, nil, word))
	if err != nil || c.Name != "ann" || !slices.Equal(c.Verbs, []gate.Verb{gate.Logout, gate.RunsList}) || c.May(gate.RunsStart) || !c.May(gate.Logout) || !c.May(gate.Health) {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = g.Identify(request(t, in.Cookie, word))
	refused(t, err, paddock.InvalidRequest)
	// A token may end itself, one for some workspaces too, and nothing else of its owner's.
	other, _, err := d.Tokens.Make(t.Context(), e.Who, desk.TokenRequest{Name: "site", Scopes: []string{"runs.list"}, Workspaces: []string{"site"}, Lasts: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{word, other} {
		if c, err := g.Identify(request(t, nil, one)); err != nil || !c.May(gate.Logout) || c.May(gate.TokensRevoke) {
			t.Errorf("%+v, %v", c, err)
		}
		if gone, err := g.Logout(request(t, nil, one)); gone != nil || err != nil {
			t.Errorf("%v, %v", gone, err)
		}
		_, err = g.Identify(request(t, nil, one))
		refused(t, err, paddock.Unauthenticated)
		_, err = g.Logout(request(t, nil, one))
		refused(t, err, paddock.Unauthenticated)
	}
	if _, err := g.Identify(request(t, in.Cookie, "")); err != nil {
		t.Error(err)
	}
	refused(t, d.Tokens.End(t.Context(), in.Caller.Who), paddock.InvalidRequest)
	// Too many tries are told as what they are, with the time to wait.
	for range 11 {
		_, err = g.Login(t.Context(), gate.From{Addr: "192.0.2.1"}, gate.Proof{Name: "ann", Password: "wrong"})
	}
	refused(t, err, paddock.RateLimited)
	if p := problem.Of(err); p.Status != http.StatusTooManyRequests || p.RetryAfter != 30 {
		t.Errorf("%+v", p)
	}
}

// The door's table of roles says of each verb what the table of accounts says.
func TestOneTable(t *testing.T) {
	t.Parallel()
	both := 0
	for _, v := range gate.Verbs() {
		if !slices.Contains(auth.Verbs(), v) {
			continue
		}
		both++
		for _, r := range auth.Roles() {
			if got, want := gate.Permits(r, v), auth.Reaches(r, v) != auth.Nothing; got != want {
				t.Errorf("%s of %s: the door says %t, the accounts %t", v, r, got, want)
			}
		}
	}
	if both < 12 {
		t.Errorf("only %d verbs have the same name", both)
	}
}
