package desk_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/store"
)

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]func(*world, desk.Entry){
		"idle":       func(w *world, _ desk.Entry) { w.pass(12 * time.Hour) },
		"logged out": func(w *world, e desk.Entry) { w.must(w.Logout(w.t.Context(), e.Who)) },
		"ended by an admin": func(w *world, e desk.Entry) {
			w.must(w.EndSession(w.t.Context(), auth.Local(), e.Who.User, e.Who.Session))
		},
		"all ended": func(w *world, e desk.Entry) { w.all(w.EndSessions(w.t.Context(), auth.Local(), e.Who.User)) },
		"disabled":  func(w *world, e desk.Entry) { w.all(w.People.Disable(w.t.Context(), auth.Local(), e.Who.User)) },
		"disabled and enabled": func(w *world, e desk.Entry) {
			w.all(w.People.Disable(w.t.Context(), auth.Local(), e.Who.User))
			w.all(w.People.Enable(w.t.Context(), auth.Local(), e.Who.User))
		},
		"another role": func(w *world, e desk.Entry) {
			w.all(w.People.SetRole(w.t.Context(), auth.Local(), e.Who.User, auth.Viewer))
		},
		"another password": func(w *world, e desk.Entry) { w.all(w.SetPassword(w.t.Context(), e.Who, home, good, good+"!")) },
		"old, though used": func(w *world, e desk.Entry) {
			for range 7*3 - 1 {
				w.pass(8 * time.Hour)
				w.in(e.Secret)
			}
			w.pass(8 * time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.user("ann", auth.Operator)
			w.in(e.Secret)
			tc(w, e)
			for range 2 {
				_, err := w.session(e.Secret)
				refused(t, err, paddock.Unauthenticated, "The session is over")
			}
			list, err := w.Sessions(t.Context(), auth.Local(), e.Who.User)
			for _, s := range list {
				if s.ID == e.Who.Session {
					t.Errorf("it is still listed; %v", err)
				}
			}
		})
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) all(_ any, err error) {
	w.t.Helper()
	w.must(err)
}

func TestSessionWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	other := newWorld(t).user("ann", auth.Operator)
	for _, bad := range []string{"", other.Secret, e.Secret[:len(e.Secret)-1], e.Secret + "x", strings.ToUpper(e.Secret), e.Secret + "\x00", strings.Repeat(e.Secret, 1000), "\xff"} {
		_, err := w.session(bad)
		refused(t, err, paddock.Unauthenticated, "The session is over")
	}
	if by := w.in(e.Secret); by.User != e.Who.User || by.Name != "ann" || by.Role != auth.Operator || by.Session != e.Who.Session || by.Token != "" {
		t.Errorf("%+v", by)
	}
}

// The last use is written at most once a minute, by however many requests.
func TestLastSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	many := func() {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := w.session(e.Secret); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	for _, tc := range []struct {
		after  time.Duration
		writes int
	}{{0, 0}, {59 * time.Second, 0}, {time.Second, 1}, {30 * time.Second, 1}, {30 * time.Second, 2}, {time.Hour, 3}} {
		w.pass(tc.after)
		many()
		if n := w.store.counted("SeeSession"); n != tc.writes {
			t.Errorf("%v later: %d writes, want %d", tc.after, n, tc.writes)
		}
	}
	list, err := w.Sessions(t.Context(), e.Who, e.Who.User)
	if err != nil || len(list) != 1 || !list[0].LastSeen.Equal(w.clock()) {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	ann, bob := w.user("ann", auth.Operator), w.user("bob", auth.Viewer)
	w.pass(time.Minute)
	hostile := desk.From{Address: at("2001:db8::1").Address, Device: "Evil\r\nSet-Cookie: x\x00\x1b[2J\xff" + strings.Repeat("y", 10<<10)}
	second, err := w.Login(t.Context(), hostile, "ann", good)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Sessions(t.Context(), ann.Who, ann.Who.User)
	if err != nil || len(list) != 2 || list[0].ID != second.Who.Session || list[1].Device != "Test/1.0" || list[1].Address != "192.0.2.1" {
		t.Fatalf("%+v, %v", list, err)
	}
	if d := list[0].Device; !strings.HasPrefix(d, "EvilSet-Cookie: x[2Jyyy") || len(d) != auth.MostLabel || list[0].Address != "2001:db8::1" {
		t.Errorf("the device is %q", d)
	}
	for _, s := range list {
		if s.Secret != (store.Hash{}) {
			t.Error("a digest is shown")
		}
	}
	// Somebody else's aren't there.
	_, err = w.Sessions(t.Context(), bob.Who, ann.Who.User)
	refused(t, err, paddock.NotFound, "")
	refused(t, w.EndSession(t.Context(), bob.Who, ann.Who.User, second.Who.Session), paddock.NotFound, "")
	refused(t, w.EndSession(t.Context(), bob.Who, bob.Who.User, second.Who.Session), paddock.NotFound, "no such session")
	_, err = w.EndSessions(t.Context(), bob.Who, ann.Who.User)
	refused(t, err, paddock.NotFound, "")
	_, err = w.Sessions(t.Context(), auth.Who{}, ann.Who.User)
	refused(t, err, paddock.Unauthenticated, "Nobody")
	refused(t, w.Logout(t.Context(), auth.Local()), paddock.InvalidRequest, "")
	w.in(second.Secret)
	// Ending all but this one.
	if n, err := w.EndSessions(t.Context(), second.Who, ann.Who.User); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	w.in(second.Secret)
	_, err = w.session(ann.Secret)
	refused(t, err, paddock.Unauthenticated, "")
	// An admin sees and ends them.
	if list, err := w.Sessions(t.Context(), admin, ann.Who.User); len(list) != 1 || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
	w.must(w.EndSession(t.Context(), admin, ann.Who.User, second.Who.Session))
	refused(t, w.EndSession(t.Context(), admin, ann.Who.User, second.Who.Session), paddock.NotFound, "no such session")
	refused(t, w.EndSession(t.Context(), admin, ann.Who.User, store.SessionID(strings.Repeat("\x00", 1<<20))), paddock.NotFound, "no such session")
}

// A lesser role counts at once, also in a session that another server let go on.
func TestRoleIsReadEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Admin)
	u := w.store.users[e.Who.User]
	u.Role = auth.Viewer
	w.store.users[e.Who.User] = u
	refused(t, w.in(e.Secret).May(auth.RunsStart, auth.Mine), paddock.Forbidden, "With the role viewer")
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ann", auth.Operator)
	w.pass(8 * 24 * time.Hour)
	if n, err := w.Forget(t.Context(), 48*time.Hour); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := w.Forget(t.Context(), time.Hour); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// What can't be an id is nobody's, and is neither asked for nor written down.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	n := len(w.events)
	for _, bad := range []string{"", "\x00", "\xff", "U1", "u1'--", "../u1", "u 1", strings.Repeat("u", 65), strings.Repeat("u", 1<<20)} {
		u := store.UserID(bad)
		for name, err := range map[string]error{
			"sessions":   second(w.Sessions(t.Context(), admin, u)),
			"end":        w.EndSession(t.Context(), admin, u, admin.Session),
			"end one":    w.EndSession(t.Context(), admin, admin.User, store.SessionID(bad)),
			"end all":    second(w.EndSessions(t.Context(), admin, u)),
			"role":       second(w.People.SetRole(t.Context(), admin, u, auth.Viewer)),
			"disable":    second(w.People.Disable(t.Context(), admin, u)),
			"invitation": w.People.RemoveInvitation(t.Context(), admin, store.InvitationID(bad)),
			"token":      w.Tokens.Revoke(t.Context(), admin, store.TokenID(bad)),
			"factors":    second(w.Factors.List(t.Context(), admin, u)),
			"factor":     w.Factors.Remove(t.Context(), auth.Local(), admin.User, store.FactorID(bad)),
		} {
			var r *paddock.Refusal
			if !errors.As(err, &r) || r.Code != paddock.NotFound || len(err.Error()) > 200 {
				t.Errorf("%s, %.20q: %v", name, bad, err)
			}
		}
	}
	if len(w.events) != n {
		t.Errorf("%d entries", len(w.events)-n)
	}
}

func second[T any](_ T, err error) error { return err }
