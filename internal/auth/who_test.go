package auth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/store"
)

var (
	now  = store.At(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	user = store.User{ID: "u1", Name: "ann", Role: auth.Approver}
)

func code(err error) paddock.Code {
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// Over every role, verb, kind of credential and owner: who may is what the table says,
// narrowed by what is shown.
func TestMay(t *testing.T) {
	t.Parallel()
	for _, r := range auth.Roles() {
		u := user
		u.Role = r
		proven := auth.OfSession(u, store.Session{ID: "s1", Proven: now.After(-time.Minute)}, 10*time.Minute, now)
		fresh := auth.OfSession(u, store.Session{ID: "s1"}, 10*time.Minute, now)
		stale := auth.OfSession(u, store.Session{ID: "s1", Proven: now.After(-10 * time.Minute)}, 10*time.Minute, now)
		var every store.Words
		for _, v := range auth.Verbs() {
			every = append(every, string(v))
		}
		token := auth.OfToken(u, store.Token{ID: "t1", Scopes: every, Workspaces: store.Words{"*"}}, now)
		for _, v := range auth.Verbs() {
			for _, whose := range []auth.Whose{auth.Mine, auth.Foreign} {
				want := auth.May(r, v, whose)
				if got := proven.May(v, whose) == nil; got != want {
					t.Errorf("%s, %s, %d: %v", r, v, whose, proven.May(v, whose))
				}
				for _, w := range []auth.Who{fresh, stale} {
					if got := w.May(v, whose) == nil; got != (want && !v.Second()) {
						t.Errorf("without a second factor: %s, %s, %d: %v", r, v, whose, w.May(v, whose))
					}
					if want && v.Second() && code(w.May(v, whose)) != paddock.SecondFactorRequired {
						t.Errorf("%s: %v", v, w.May(v, whose))
					}
				}
				if got := token.May(v, whose) == nil; got != (want && v.Delegable()) {
					t.Errorf("token: %s, %s, %d: %v", r, v, whose, token.May(v, whose))
				}
				if (auth.Who{Role: r}).May(v, whose) == nil || (auth.Who{}).May(v, whose) == nil {
					t.Errorf("nobody may %s", v)
				}
			}
			if none := auth.OfToken(u, store.Token{ID: "t1"}, now); code(none.May(v, auth.Mine)) != paddock.Forbidden {
				t.Errorf("a token without scopes: %s: %v", v, none.May(v, auth.Mine))
			}
		}
	}
}

func TestWhatIsNotHisIsNotThere(t *testing.T) {
	t.Parallel()
	w := auth.OfSession(user, store.Session{ID: "s1"}, time.Minute, now)
	if c := code(w.May(auth.RunsRead, auth.Foreign)); c != paddock.NotFound {
		t.Errorf("another's run: %s", c)
	}
	if c := code(w.May(auth.UsersRead, auth.Foreign)); c != paddock.Forbidden {
		t.Errorf("what only admins may: %s", c)
	}
	if c := code(w.May(auth.ApprovalsVote, auth.Mine)); c != paddock.Forbidden {
		t.Errorf("what he asked himself: %s", c)
	}
	if w.Scope(auth.RunsList) != store.Of("u1") || w.Scope(auth.ApprovalsList) != store.Everyone() || w.Scope(auth.UsersRead) != store.Of("u1") {
		t.Error("the scopes are others")
	}
	if w.Whose("u1") != auth.Mine || w.Whose("u2") != auth.Foreign || (auth.Who{}).Whose("") != auth.Foreign {
		t.Error("whose it is is mistaken")
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	l := auth.Local()
	if !l.IsLocal() || l.May(auth.UsersChange, auth.Foreign) != nil || code(l.May(auth.ApprovalsVote, auth.Foreign)) != paddock.SecondFactorRequired {
		t.Error("the operator of the machine may other things")
	}
	if (auth.Who{Name: l.Name, Role: auth.Admin}).IsLocal() {
		t.Error("it can be made by hand")
	}
}

// No two names that are allowed look the same but for their ASCII characters, and what
// is allowed stays what it is under folding.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"ann", "a1", "ann.smith", "ann-smith_2", strings.Repeat("a", 32)} {
		if got, err := auth.ParseName(good); err != nil || got != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		got, err := auth.ParseName(s)
		if err != nil {
			if code(err) != paddock.InvalidRequest {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if got != s || strings.ToLower(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r > '~' || r <= ' ' }) {
			t.Fatalf("%q is a name", s)
		}
	})
}

func TestLabels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(rapid.String().Draw(t, "label"), rapid.SampledFrom([]int{1, 1, 1, 500}).Draw(t, "times"))
		got := auth.Label(s)
		if len(got) > auth.MostLabel || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) || got != "" && !auth.Printable(got) {
			t.Fatalf("%q", got)
		}
	})
	for _, bad := range []string{"", "\x00", "a\tb", "\xff", "\u202e", strings.Repeat("x", auth.MostLabel+1)} {
		if auth.Printable(bad) {
			t.Errorf("%q is printable", bad)
		}
	}
	if !slices.ContainsFunc([]string{"Anns Rechner – Büro"}, auth.Printable) {
		t.Error("other letters aren't printable")
	}
}
