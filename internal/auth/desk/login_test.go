package desk_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/desk/internal/hall/password"
	"paddock/internal/store"
)

func TestFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	word, expires, err := w.FirstLink(t.Context())
	if err != nil || !auth.IsWord(auth.LinkWord, word) || !expires.Equal(w.clock().Add(time.Hour)) {
		t.Fatalf("%q, %v, %v", word, expires, err)
	}
	// It starts again before anybody used the link: there is another one.
	w.restart()
	again, _, err := w.FirstLink(t.Context())
	if err != nil || again == "" || again == word || w.users() != 1 {
		t.Fatalf("%q, %v, %d users", again, err, w.users())
	}
	e, err := w.Redeem(t.Context(), home, word)
	if err != nil || e.Who.Role != auth.Admin || e.Who.Name != "admin" || w.in(e.Secret).User != e.Who.User {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := e.Who.May(auth.UsersChange, auth.Foreign); err != nil {
		t.Error(err)
	}
	// Used is used.
	_, err = w.Redeem(t.Context(), home, word)
	refused(t, err, paddock.Unauthenticated, "was used before")
	// As long as he is logged in there is no link.
	if word, _, err := w.FirstLink(t.Context()); word != "" || err != nil {
		t.Errorf("%q, %v", word, err)
	}
	// Who logged out without setting a password gets in by the next start …
	if err := w.Logout(t.Context(), e.Who); err != nil {
		t.Fatal(err)
	}
	word, _, err = w.FirstLink(t.Context())
	if err != nil || word == "" {
		t.Fatalf("%q, %v", word, err)
	}
	e, err = w.Redeem(t.Context(), home, word)
	if err != nil {
		t.Fatal(err)
	}
	// … and once there is a password, by that alone.
	if e, err = w.SetPassword(t.Context(), e.Who, home, "", good); err != nil {
		t.Fatal(err)
	}
	if err := w.Logout(t.Context(), e.Who); err != nil {
		t.Fatal(err)
	}
	if word, _, err := w.FirstLink(t.Context()); word != "" || err != nil {
		t.Errorf("%q, %v", word, err)
	}
	if _, err := w.Login(t.Context(), home, "admin", good); err != nil {
		t.Error(err)
	}
}

func TestFirstLinkOnlyForTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ann", auth.Viewer) // made by the operator of the machine, before any start
	for _, change := range []func() error{
		func() error { return nil },
		func() error { _, err := w.People.Disable(t.Context(), auth.Local(), w.named("ann")); return err },
		func() error { w.user("bob", auth.Admin); return nil },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if word, _, err := w.FirstLink(t.Context()); word != "" || err != nil {
			t.Errorf("%q, %v", word, err)
		}
	}
}

func (w *world) named(name string) store.UserID {
	w.t.Helper()
	u, err := w.People.UserNamed(w.t.Context(), auth.Local(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return u.ID
}

func TestLinkExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	word, _, err := w.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	_, err = w.Redeem(t.Context(), home, word)
	refused(t, err, paddock.Unauthenticated, "too old")
	if e := w.last(); e.What != auth.LoginRefused || e.Detail != "link" || e.From != home.Address {
		t.Errorf("%+v", e)
	}
	for _, bad := range []string{"", word[:20], word + "x", strings.Repeat(word, 100), "\x00", "\xff", strings.Replace(word, "pdl_", "pds_", 1)} {
		_, err := w.Redeem(t.Context(), home, bad)
		refused(t, err, paddock.Unauthenticated, "cut when it was copied")
	}
}

// Of many who use one link at the same time, one is let in.
func TestLinkOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	word, _, err := w.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.Redeem(t.Context(), home, word); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were let in", in.Load())
	}
}

func TestLinkByAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	ann := w.user("ann", auth.Operator)
	_, _, err := w.People.Link(t.Context(), ann.Who, admin.User, false)
	refused(t, err, paddock.Forbidden, "With the role operator")
	_, _, err = w.People.Link(t.Context(), admin, "u0000", false)
	refused(t, err, paddock.NotFound, "no such user")
	word, _, err := w.People.Link(t.Context(), admin, ann.Who.User, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.session(ann.Secret)
	refused(t, err, paddock.Unauthenticated, "over")
	_, err = w.Login(t.Context(), home, "ann", good)
	refused(t, err, paddock.Unauthenticated, "wrong")
	e, err := w.Redeem(t.Context(), home, word)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetPassword(t.Context(), e.Who, home, "", "another long password"); err != nil {
		t.Error(err)
	}
	if _, err := w.People.Disable(t.Context(), admin, ann.Who.User); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.People.Link(t.Context(), admin, ann.Who.User, false)
	refused(t, err, paddock.Conflict, "is disabled")
}

// Whatever is wrong, the answer and the work are the same.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	w.user("ann", auth.Operator)
	w.user("bob", auth.Operator)
	if _, err := w.People.Disable(t.Context(), admin, w.named("bob")); err != nil {
		t.Fatal(err)
	}
	w.user("cyd", auth.Operator)
	if _, _, err := w.People.Link(t.Context(), admin, w.named("cyd"), true); err != nil { // takes the password away
		t.Fatal(err)
	}
	for name, tc := range map[string][2]string{
		"wrong password":    {"ann", good + "!"},
		"no password given": {"ann", ""},
		"NUL":               {"ann", good + "\x00"},
		"bad UTF-8":         {"ann", "\xff\xfe" + good},
		"unknown":           {"nobody", good},
		"disabled":          {"bob", good},
		"without password":  {"cyd", ""},
		"no name":           {"", good},
		"another case":      {"Ann", good},
		"a space":           {"ann ", good},
		"a lookalike":       {"аnn", good},
		"a name with NUL":   {"ann\x00", good},
		"a bad name":        {"\xff\xfe", good},
		"a long name":       {strings.Repeat("ann", 1<<20), good},
		"the dummy":         {"-", good},
	} {
		before := w.hasher.Hashed()
		e, err := w.Login(t.Context(), at("198.51.100.7"), tc[0], tc[1])
		refused(t, err, paddock.Unauthenticated, "The name or the password is wrong, or the account is disabled.")
		if err == nil || err.Error() != "unauthenticated: The name or the password is wrong, or the account is disabled." {
			t.Errorf("%s: %v", name, err)
		}
		if e.Secret != "" || e.Who.User != "" || w.hasher.Hashed() != before+1 {
			t.Errorf("%s: %+v, %d hashed", name, e, w.hasher.Hashed()-before)
		}
		if e := w.last(); e.What != auth.LoginRefused || e.Detail != "password" {
			t.Errorf("%s: %+v", name, e)
		}
		w.pass(time.Hour)
	}
}

// A password that is too long isn't hashed, whoever it is said to be of.
func TestHugePasswords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ann", auth.Operator)
	before := w.hasher.Hashed()
	for _, name := range []string{"ann", "nobody"} {
		_, err := w.Login(t.Context(), home, name, strings.Repeat("x", password.Longest+1))
		refused(t, err, paddock.Unauthenticated, "The name or the password is wrong")
	}
	e, err := w.Login(t.Context(), home, "ann", good)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.SetPassword(t.Context(), e.Who, home, good, strings.Repeat("x", 1<<20))
	refused(t, err, paddock.InvalidRequest, "at most 1024 bytes")
	if n := w.hasher.Hashed() - before; n != 2 { // logging in, and showing the present one
		t.Errorf("%d were hashed", n)
	}
}

func TestTooManyTries(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ann", "nobody"} { // known or not: the same
		w := newWorld(t)
		w.user("ann", auth.Operator)
		for i := range 10 {
			_, err := w.Login(t.Context(), at("203.0.113."+string(rune('1'+i%9))), name, "wrong")
			refused(t, err, paddock.Unauthenticated, "")
		}
		before := w.hasher.Hashed()
		_, err := w.Login(t.Context(), at("203.0.113.99"), name, good)
		refused(t, err, paddock.RateLimited, "Wait 30s")
		var l *desk.Limited
		if !errors.As(err, &l) || l.Wait != 30*time.Second || w.hasher.Hashed() != before {
			t.Errorf("%v; %d hashed", err, w.hasher.Hashed()-before)
		}
		w.pass(30 * time.Second)
		_, err = w.Login(t.Context(), at("203.0.113.99"), "ann", good)
		if err != nil {
			t.Errorf("after waiting: %v", err)
		}
	}
}

func TestTooManyTriesFromOneAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, _, err := w.People.Invite(t.Context(), auth.Local(), auth.Operator)
	if err != nil {
		t.Fatal(err)
	}
	tries := []func(desk.From) error{
		func(f desk.From) error { _, err := w.Login(t.Context(), f, "", "x"); return err },
		func(f desk.From) error { _, err := w.Redeem(t.Context(), f, "x"); return err },
		func(f desk.From) error { _, err := w.People.Accept(t.Context(), f, "x", "ann", good); return err },
	}
	for i := range 30 { // a whole network of IPv6 is one
		refused(t, tries[i%len(tries)](at("2001:db8::"+string(rune('1'+i%9)))), paddock.Unauthenticated, "")
	}
	for _, try := range tries {
		refused(t, try(at("2001:db8::ffff")), paddock.RateLimited, "Wait 3s")
		refused(t, try(at("2001:db8:0:1::1")), paddock.Unauthenticated, "") // another one
	}
	_, err = w.People.Accept(t.Context(), at("2001:db8::1"), code, "ann", good)
	refused(t, err, paddock.RateLimited, "")
	if _, err := w.People.Accept(t.Context(), at("2001:db8:0:1::1"), code, "ann", good); err != nil {
		t.Error(err)
	}
	refused(t, tries[0](desk.From{}), paddock.Unauthenticated, "") // no address is one too
}

// Logging in rightly never makes anybody wait.
func TestRightTriesAreForgiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ann", auth.Operator)
	for range 100 {
		if _, err := w.Login(t.Context(), home, "ann", good); err != nil {
			t.Fatal(err)
		}
	}
}

// Every way in gives another secret, and none that was shown before is taken over.
func TestFixation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	add := func(e desk.Entry, err error) desk.Entry {
		t.Helper()
		if err != nil || seen[e.Secret] || !auth.IsWord(auth.SessionWord, e.Secret) {
			t.Fatalf("%+v, %v", e, err)
		}
		seen[e.Secret] = true
		return e
	}
	a := add(w.user("ann", auth.Operator), nil)
	add(w.Login(t.Context(), home, "ann", good))
	b := add(w.Login(t.Context(), home, "ann", good))
	word, _, err := w.People.Link(t.Context(), auth.Local(), a.Who.User, false)
	if err != nil {
		t.Fatal(err)
	}
	add(w.Redeem(t.Context(), home, word))
	c := add(w.SetPassword(t.Context(), b.Who, home, good, good+"!"))
	for secret := range seen {
		if _, err := w.session(secret); (err == nil) != (secret == c.Secret) {
			t.Errorf("after the change of the password: %v", err)
		}
	}
	for hash, s := range w.store.sessions {
		if s.Secret != hash || strings.Contains(string(hash[:]), "pds_") {
			t.Error("a session is kept by its secret")
		}
	}
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	_, err := w.SetPassword(t.Context(), e.Who, home, "wrong", "another long password")
	refused(t, err, paddock.Unauthenticated, "The present password is wrong")
	for _, bad := range []string{"", "short", "annannannann", "with a\x00NUL in it", "with \xff in it, long"} {
		_, err := w.SetPassword(t.Context(), e.Who, home, good, bad)
		refused(t, err, paddock.InvalidRequest, "")
	}
	w.in(e.Secret)
	for range 10 { // who has a session may not try all passwords by it
		if _, err = w.SetPassword(t.Context(), e.Who, home, "wrong", good); err == nil {
			t.Fatal("a wrong password is right")
		}
	}
	refused(t, err, paddock.RateLimited, "")
	_, err = w.SetPassword(t.Context(), auth.Local(), home, "", good)
	refused(t, err, paddock.Forbidden, "logged in")
	_, err = w.SetPassword(t.Context(), auth.Who{User: e.Who.User, Token: "t1"}, home, good, good)
	refused(t, err, paddock.Forbidden, "logged in")
}

// A hash of another cost is made anew when its owner logs in.
func TestRehash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	w.config.Hasher = password.New(password.Cost{Memory: 128, Passes: 2, Lanes: 1}, 1, 1, nil)
	w.restart()
	for range 2 {
		if _, err := w.Login(t.Context(), home, "ann", good); err != nil {
			t.Fatal(err)
		}
	}
	if hash := w.store.users[e.Who.User].Password; !strings.HasPrefix(hash, "$argon2id$v=19$m=128,t=2,p=1$") {
		t.Errorf("kept is %s", hash)
	}
	if n := w.store.counted("ChangeUser"); n != 1 {
		t.Errorf("it was changed %d times", n)
	}
}

func TestKeptHashIsBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	u := w.store.users[e.Who.User]
	u.Password = "$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	w.store.users[e.Who.User] = u
	_, err := w.Login(t.Context(), home, "ann", good)
	var r *paddock.Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("%v", err)
	}
}

// Too many at once are told to come again.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ann", auth.Operator)
	w.config.Hasher = password.New(quick, 0, 0, nil) // has a turn for nobody
	w.restart()
	_, err := w.Login(t.Context(), home, "ann", good)
	refused(t, err, paddock.RateLimited, "Wait 1s")
}
