package approval

import (
	"errors"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/approval/vouched"
	"paddock/internal/journal/sign"
)

// proven is what the server whose key it is says of a vote.
func proven(t testing.TB, server *sign.Key, vote []byte, change func(*vouched.Statement)) []byte {
	t.Helper()
	s := vouched.Statement{Vote: string(vote), Account: "anna", ShownAt: noon.Add(-time.Minute), At: noon}
	if change != nil {
		change(&s)
	}
	envelope, err := vouched.Sign(server, s)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// wanting is a matter whose rule wants a second factor, and who can approve it.
func wanting(t testing.TB, dir string) (m paddock.Matter, by paddock.Approvals, anna, server *sign.Key) {
	t.Helper()
	anna, server = keyAt(t, dir, "anna"), keyAt(t, dir, "server")
	m = matterOf("git", "push")
	m.SecondFactor = true
	by = approvedBy(listed(anna, "anna", ""))
	by.Keys[0].Account = "anna"
	by.Verifiers = []paddock.ApprovalVerifier{{Name: "desk", Key: KeyText(&server.Public)}}
	return m, by, anna, server
}

func TestSecondFactorCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, by, anna, server := wanting(t, dir)
	b := In(dir)
	a := asked(t, b, m, by, noon)
	a, err := b.Vote(a.ID, proven(t, server, signed(t, anna, a, yes(noon)), nil), noon, untold)
	if err != nil || a.State != paddock.ApprovalApproved {
		t.Fatalf("%+v, %v", a, err)
	}
	want := paddock.FactorShown{Verifier: "desk", Account: "anna", ShownAt: noon.Add(-time.Minute)}
	if got := a.Votes[0].Factor; got == nil || *got != want {
		t.Errorf("the factor is %+v", got)
	}
	// Whose word counts is said by who decides, when it is used.
	other := by
	other.Verifiers = nil
	if got, err := b.As(a.ID, m, other, noon); err != nil || got.State != paddock.ApprovalWaiting || len(got.Void) != 1 {
		t.Errorf("without the verifier: %+v, %v", got, err)
	}
	other.Verifiers, other.Keys = by.Verifiers, []paddock.ApprovalKey{listed(anna, "anna", "")}
	if got, err := b.As(a.ID, m, other, noon); err != nil || got.State != paddock.ApprovalWaiting {
		t.Errorf("without the account: %+v, %v", got, err)
	}
	if _, err := b.Use(a.ID, m, by, "r1", noon); err != nil {
		t.Error(err)
	}
	// Where no rule wants one, the word does no harm.
	m.SecondFactor = false
	a = asked(t, b, m, by, noon)
	if a, err := b.Vote(a.ID, proven(t, server, signed(t, anna, a, yes(noon)), nil), noon, untold); err != nil || a.State != paddock.ApprovalApproved {
		t.Errorf("%+v, %v", a, err)
	}
}

// Denying wants no factor.
func TestDenialWithoutFactor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, by, anna, _ := wanting(t, dir)
	b := In(dir)
	a := asked(t, b, m, by, noon)
	if a, err := b.Vote(a.ID, signed(t, anna, a, Statement{By: "x", At: noon}), noon, untold); err != nil || a.State != paddock.ApprovalDeclined {
		t.Errorf("%+v, %v", a, err)
	}
}

// What is no fresh factor of who signed, by the word of a listed server, counts for nothing.
func TestFactorsThatDoNotCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, by, anna, server := wanting(t, dir)
	b := In(dir)
	a := asked(t, b, m, by, noon)
	other := matterOf("git", "fetch")
	other.SecondFactor = true
	elsewhere := asked(t, b, other, by, noon)
	vote := signed(t, anna, a, yes(noon))
	mallory := keyAt(t, dir, "mallory")
	with := func(change func(*vouched.Statement)) []byte { return proven(t, server, vote, change) }
	for name, c := range map[string]struct {
		envelope []byte
		want     string
	}{
		"none":                      {vote, "wants a second factor"},
		"another server":            {proven(t, mallory, vote, nil), "no verifier that the policy lists"},
		"who votes vouches himself": {proven(t, anna, vote, nil), "no verifier that the policy lists"},
		"another account":           {with(func(s *vouched.Statement) { s.Account = "ben" }), "another account's"},
		"no account":                {with(func(s *vouched.Statement) { s.Account = "" }), "another account's"},
		"too old":                   {with(func(s *vouched.Statement) { s.ShownAt = noon.Add(-vouched.Fresh - time.Second) }), "wasn't shown in"},
		"of the future":             {with(func(s *vouched.Statement) { s.ShownAt = noon.Add(time.Second) }), "wasn't shown in"},
		"no time":                   {with(func(s *vouched.Statement) { s.ShownAt, s.At = time.Time{}, time.Time{} }), "wasn't shown"},
		"before it was asked":       {with(func(s *vouched.Statement) { s.At, s.ShownAt = noon.Add(-time.Hour), noon.Add(-time.Hour) }), "while the request waited"},
		"after its end":             {with(func(s *vouched.Statement) { s.At, s.ShownAt = noon.Add(2*time.Hour), noon.Add(2*time.Hour) }), "while the request waited"},
		"another's vote":            {proven(t, server, signed(t, mallory, a, yes(noon)), nil), "no key that the policy lists"},
		"another request's vote":    {proven(t, server, signed(t, anna, elsewhere, yes(noon)), nil), "another request"},
		"no vote":                   {with(func(s *vouched.Statement) { s.Vote = "" }), "no key that the policy lists"},
		"NUL":                       {with(func(s *vouched.Statement) { s.Vote = "\x00" }), "no key that the policy lists"},
		"twice":                     {proven(t, server, proven(t, server, vote, nil), nil), "no key that the policy lists"},
		"another spelling":          {append([]byte(" "), with(nil)...), "no verifier that the policy lists"},
		"too long":                  {with(func(s *vouched.Statement) { s.Vote = strings.Repeat("x", vouched.MostBytes) }), "longer than"},
	} {
		got, err := b.Vote(a.ID, c.envelope, noon, untold)
		void, ok := errors.AsType[*Void](err)
		if !ok || !strings.Contains(err.Error(), c.want) || got.State != paddock.ApprovalWaiting {
			t.Errorf("%s: %v, %s; want %q", name, err, got.State, c.want)
			continue
		}
		code := paddock.Forbidden
		if errors.Is(err, errFactor) {
			code = paddock.SecondFactorRequired
		}
		if r := void.Refusal(a.ID); r.Code != code || r.Hint == "" {
			t.Errorf("%s is told as %+v", name, r)
		}
	}
	// Put down by somebody else it counts for nothing, too, and the directory says why.
	write(t, b.path(a.ID, voteName(&anna.Public, true)), string(vote))
	if got, err := b.As(a.ID, m, by, noon); err != nil || got.State != paddock.ApprovalWaiting || len(got.Void) != 1 || !strings.Contains(got.Void[0], "wants a second factor") {
		t.Errorf("%+v, %v", got, err)
	}
}

// The account that approves can't be that of who asks.
func TestWhoHoldsTheAccountAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, by, anna, server := wanting(t, dir)
	m.Principal = paddock.Principal{Kind: paddock.User, ID: "user:anna"}
	b := In(dir)
	a := asked(t, b, m, by, noon)
	if _, err := b.Vote(a.ID, proven(t, server, signed(t, anna, a, yes(noon)), nil), noon, untold); err == nil || !strings.Contains(err.Error(), "who asks can't") {
		t.Error(err)
	}
}
