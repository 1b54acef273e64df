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
	"paddock/internal/auth/desk/internal/hall/factors"
	"paddock/internal/auth/desk/internal/hall/factors/totp"
	"paddock/internal/store"
)

func keyed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.config.Key = desk.NewKey()
	w.restart()
	return w
}

// app is an authenticator app.
type app struct{ secret []byte }

func (a app) at(now time.Time) string { return totp.Code(a.secret, totp.Step(now)) }

// enrol gives who a factor, and returns the app and the session after it.
func (w *world) enrol(e desk.Entry) (app, desk.Entry) {
	w.t.Helper()
	o, err := w.Factors.Offer(w.t.Context(), e.Who, home, good)
	w.must(err)
	a := appOf(w.t, o)
	e, err = w.Factors.Add(w.t.Context(), e.Who, home, e.Secret, o.Sealed, a.at(w.clock()), "phone")
	w.must(err)
	return a, e
}

func appOf(t *testing.T, o factors.Offer) app {
	t.Helper()
	secret, err := base32Decode(o.Secret)
	if err != nil || !strings.Contains(o.URI, o.Secret) || len(secret) != totp.SecretSize {
		t.Fatalf("%+v, %v", o, err)
	}
	return app{secret}
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	e := w.user("ann", auth.Approver)
	refused(t, e.Who.May(auth.ApprovalsVote, auth.Foreign), paddock.SecondFactorRequired, "")
	a, shown := w.enrol(e)
	w.must(w.in(shown.Secret).May(auth.ApprovalsVote, auth.Foreign))
	// The session has another word now, and the old one is nobody's.
	_, err := w.session(e.Secret)
	refused(t, err, paddock.Unauthenticated, "over")
	if shown.Secret == e.Secret || shown.Who.Session != e.Who.Session {
		t.Error("the session isn't the same with another word")
	}
	// It counts for ten minutes, in this session alone.
	other, err := w.Login(t.Context(), home, "ann", good)
	w.must(err)
	refused(t, w.in(other.Secret).May(auth.ApprovalsVote, auth.Foreign), paddock.SecondFactorRequired, "")
	w.pass(10 * time.Minute)
	refused(t, w.in(shown.Secret).May(auth.ApprovalsVote, auth.Foreign), paddock.SecondFactorRequired, "")
	again, err := w.Factors.Prove(t.Context(), other.Who, home, other.Secret, a.at(w.clock()))
	w.must(err)
	w.must(w.in(again.Secret).May(auth.ApprovalsVote, auth.Foreign))
	if l := w.last(); l.What != auth.Proved || l.Detail != "totp" || l.By != e.Who.User {
		t.Errorf("%+v", l)
	}
}

// A factor counts in the session that asks and in no other, whoever has its word.
func TestFactorForAnotherSession(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	a, e := w.enrol(w.user("ann", auth.Approver))
	bob := w.user("bob", auth.Approver)
	second, err := w.Login(t.Context(), home, "ann", good)
	w.must(err)
	for _, word := range []string{bob.Secret, second.Secret, "", "pds_", strings.Repeat("x", 1<<20)} {
		w.pass(time.Minute)
		_, err := w.Factors.Prove(t.Context(), e.Who, home, word, a.at(w.clock()))
		refused(t, err, paddock.Unauthenticated, "The session is over")
	}
	for _, secret := range []string{e.Secret, bob.Secret, second.Secret} {
		w.in(secret)
	}
	refused(t, w.in(bob.Secret).May(auth.ApprovalsVote, auth.Foreign), paddock.SecondFactorRequired, "")
}

func TestOneTimeIsOnce(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	a, e := w.enrol(w.user("ann", auth.Approver))
	_, err := w.Factors.Prove(t.Context(), e.Who, home, e.Secret, a.at(w.clock()))
	refused(t, err, paddock.Unauthenticated, "was used before") // it was the first one
	w.pass(time.Minute)
	code := a.at(w.clock())
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.Factors.Prove(t.Context(), e.Who, home, e.Secret, code); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were believed", in.Load())
	}
	w.pass(30 * time.Second)
	e, err = w.Login(t.Context(), home, "ann", good)
	w.must(err)
	_, err = w.Factors.Prove(t.Context(), e.Who, home, e.Secret, code) // still within the clocks' skew
	refused(t, err, paddock.Unauthenticated, "was used before")
	// One of the step before the last used isn't good any more either.
	if _, err = w.Factors.Prove(t.Context(), e.Who, home, e.Secret, totp.Code(a.secret, totp.Step(w.clock())+1)); err != nil {
		t.Fatal(err)
	}
	e, err = w.Login(t.Context(), home, "ann", good)
	w.must(err)
	_, err = w.Factors.Prove(t.Context(), e.Who, home, e.Secret, a.at(w.clock()))
	refused(t, err, paddock.Unauthenticated, "was used before")
}

func TestWrongOneTime(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	a, e := w.enrol(w.user("ann", auth.Approver))
	_, bob := w.enrol(w.user("bob", auth.Approver))
	w.pass(time.Hour)
	for _, code := range []string{"", "000000", a.at(w.clock().Add(2 * time.Minute)), strings.Repeat("1", 1<<20), "\x00", "\xff"} {
		_, err := w.Factors.Prove(t.Context(), e.Who, home, e.Secret, code)
		refused(t, err, paddock.Unauthenticated, "The one-time password is wrong")
		_, err = w.Factors.Prove(t.Context(), bob.Who, home, bob.Secret, a.at(w.clock())) // somebody else's
		refused(t, err, paddock.Unauthenticated, "The one-time password is wrong")
	}
	// A million codes aren't tried: ten, then one each half minute.
	for range 4 {
		_, err := w.Factors.Prove(t.Context(), e.Who, home, e.Secret, "1")
		refused(t, err, paddock.Unauthenticated, "")
	}
	_, err := w.Factors.Prove(t.Context(), e.Who, home, e.Secret, a.at(w.clock()))
	refused(t, err, paddock.RateLimited, "")
	// Who has none, a token, the operator of the machine.
	cyd := w.user("cyd", auth.Approver)
	_, err = w.Factors.Prove(t.Context(), cyd.Who, home, cyd.Secret, "000000")
	refused(t, err, paddock.Unauthenticated, "")
	_, err = w.Factors.Prove(t.Context(), auth.Local(), home, cyd.Secret, "000000")
	refused(t, err, paddock.Forbidden, "")
}

// A stolen session can't give itself a factor.
func TestAddingFactors(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	e := w.user("ann", auth.Approver)
	for _, password := range []string{"", "wrong", strings.Repeat("x", 1<<20)} {
		_, err := w.Factors.Offer(t.Context(), e.Who, home, password)
		refused(t, err, paddock.Unauthenticated, "The present password is wrong")
	}
	o, err := w.Factors.Offer(t.Context(), e.Who, home, good)
	w.must(err)
	a := appOf(t, o)
	bob := w.user("bob", auth.Approver)
	for _, bad := range []struct {
		who                auth.Who
		sealed, code, name string
		words              string
	}{
		{e.Who, o.Sealed, "000000", "phone", "The one-time password is wrong"},
		{e.Who, o.Sealed, a.at(w.clock()), "", "has a name"},
		{e.Who, o.Sealed, a.at(w.clock()), "a\x00", "has a name"},
		{e.Who, o.Sealed[1:], a.at(w.clock()), "phone", "wasn't offered to you"},
		{e.Who, "", a.at(w.clock()), "phone", "wasn't offered to you"},
		{e.Who, strings.Repeat("A", 1<<20), a.at(w.clock()), "phone", "wasn't offered to you"},
		{e.Who, "!", a.at(w.clock()), "phone", "wasn't offered to you"},
		{bob.Who, o.Sealed, a.at(w.clock()), "phone", "wasn't offered to you"},
	} {
		_, err := w.Factors.Add(t.Context(), bad.who, home, e.Secret, bad.sealed, bad.code, bad.name)
		var r *paddock.Refusal
		if !errors.As(err, &r) || !strings.Contains(r.Message, bad.words) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	w.pass(10 * time.Minute)
	_, err = w.Factors.Add(t.Context(), e.Who, home, e.Secret, o.Sealed, a.at(w.clock()), "phone")
	refused(t, err, paddock.InvalidRequest, "too long ago")
	_, e = w.enrol(e)
	w.pass(time.Hour)
	_, err = w.Factors.Offer(t.Context(), w.in(e.Secret), home, good)
	refused(t, err, paddock.SecondFactorRequired, "Show one of the factors")
	_, err = w.Factors.Offer(t.Context(), auth.Local(), home, good)
	refused(t, err, paddock.Forbidden, "")
}

// Who has no password yet adds one soon after the login.
func TestFactorWithoutPassword(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	word, _, err := w.FirstLink(t.Context())
	w.must(err)
	e, err := w.Redeem(t.Context(), home, word)
	w.must(err)
	w.all(w.Factors.Offer(t.Context(), w.in(e.Secret), home, ""))
	w.pass(11 * time.Minute)
	_, err = w.Factors.Offer(t.Context(), w.in(e.Secret), home, "")
	refused(t, err, paddock.Unauthenticated, "Log in again")
}

func TestFactorsAreSealed(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	a, e := w.enrol(w.user("ann", auth.Approver))
	_, bob := w.enrol(w.user("bob", auth.Approver))
	var hers, his store.Factor
	for _, f := range w.store.factors {
		if strings.Contains(string(f.Data), string(a.secret)) {
			t.Error("a secret is kept as it is")
		}
		if f.Owner == e.Who.User {
			hers = f
		} else {
			his = f
		}
	}
	// Whoever can write to the database can't give bob a factor that ann has.
	his.Data, his.Counter = hers.Data, 0
	w.store.factors[his.ID] = his
	w.pass(time.Minute)
	_, err := w.Factors.Prove(t.Context(), bob.Who, home, bob.Secret, a.at(w.clock()))
	var r *paddock.Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("%v", err)
	}
	// Without a key there are none.
	w.config.Key = nil
	w.restart()
	_, err = w.Factors.Prove(t.Context(), e.Who, home, e.Secret, a.at(w.clock()))
	refused(t, err, paddock.Conflict, "has no key")
	cyd := w.user("cyd", auth.Approver)
	_, err = w.Factors.Offer(t.Context(), cyd.Who, home, good)
	refused(t, err, paddock.Conflict, "has no key")
	w.config.Key = []byte("short")
	if _, err := desk.New(w.config); err == nil {
		t.Error("a short key is a key")
	}
}

func TestFactorsOfOthers(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	admin := w.admin()
	_, e := w.enrol(w.user("ann", auth.Approver))
	bob := w.user("bob", auth.Approver)
	list, err := w.Factors.List(t.Context(), e.Who, e.Who.User)
	if err != nil || len(list) != 1 || list[0].Name != "phone" || list[0].Kind != factors.OneTime || list[0].Data != nil {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = w.Factors.List(t.Context(), bob.Who, e.Who.User)
	refused(t, err, paddock.NotFound, "")
	refused(t, w.Factors.Remove(t.Context(), bob.Who, e.Who.User, list[0].ID), paddock.NotFound, "")
	refused(t, w.Factors.Remove(t.Context(), bob.Who, bob.Who.User, list[0].ID), paddock.SecondFactorRequired, "")
	w.pass(time.Hour)
	refused(t, w.Factors.Remove(t.Context(), w.in(e.Secret), e.Who.User, list[0].ID), paddock.SecondFactorRequired, "show one first")
	w.must(w.Factors.Remove(t.Context(), admin, e.Who.User, list[0].ID)) // she lost the phone
	refused(t, w.Factors.Remove(t.Context(), admin, e.Who.User, list[0].ID), paddock.NotFound, "no such factor")
	_, e = w.enrol(e)
	list, err = w.Factors.List(t.Context(), e.Who, e.Who.User)
	w.must(err)
	w.must(w.Factors.Remove(t.Context(), e.Who, e.Who.User, list[0].ID))
}

func TestNotTooManyFactors(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	e := w.user("ann", auth.Approver)
	for range 10 {
		_, e = w.enrol(e)
	}
	o, err := w.Factors.Offer(t.Context(), e.Who, home, "")
	w.must(err)
	_, err = w.Factors.Add(t.Context(), e.Who, home, e.Secret, o.Sealed, appOf(t, o).at(w.clock()), "one more")
	refused(t, err, paddock.Conflict, "There are 10 factors already")
}
