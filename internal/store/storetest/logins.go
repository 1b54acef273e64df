package storetest

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/store"
)

// year is long after whatever ends.
const year = 365 * 24 * time.Hour

func invitations(t *testing.T, s store.Store) {
	ctx := t.Context()
	admin, other := NewUser(t, s, store.Admin), NewUser(t, s, store.Operator)
	i := store.Invitation{ID: NewID[store.InvitationID](t, 'i'), Code: Secret(), Role: store.Approver, Invitee: "github:u", Owner: admin.ID, Created: Noon, Expires: Noon.After(time.Hour)}
	if err := s.AddInvitation(ctx, i); err != nil {
		t.Fatal(err)
	}
	same(t, "by code", must(s.Invitation(ctx, i.Code, Noon))(t), i)
	new := store.User{ID: NewID[store.UserID](t, 'u'), Name: other.Name, Role: store.Admin, Created: Noon}
	as := &store.Identity{Issuer: "github", Subject: "7", Created: Noon}
	_, err := s.AcceptInvitation(ctx, i.Code, new, as, Noon)
	wants(t, "a name that is taken", err, store.ErrExists)
	for _, at := range []time.Duration{time.Hour, 2 * time.Hour} {
		_, err = s.Invitation(ctx, i.Code, Noon.After(at))
		wants(t, "looking at it too late", err, store.ErrNotFound)
		_, err = s.AcceptInvitation(ctx, i.Code, new, as, Noon.After(at))
		wants(t, "accepting too late", err, store.ErrNotFound)
	}
	_, err = s.AcceptInvitation(ctx, Secret(), new, as, Noon)
	wants(t, "another code", err, store.ErrNotFound)
	_, err = s.AcceptInvitation(ctx, store.Hash{}, new, as, Noon)
	wants(t, "no code", err, store.ErrNotFound)
	new.Name = "guest"
	got := must(s.AcceptInvitation(ctx, i.Code, new, as, Noon))(t)
	if got.Role != store.Approver {
		t.Errorf("the role is %s, not the invitation's", got.Role)
	}
	if who := must(s.Identity(ctx, "github", "7", Noon))(t); who.Owner != new.ID {
		t.Errorf("the identity is %s's", who.Owner)
	}
	new.ID, new.Name = NewID[store.UserID](t, 'u'), "second guest"
	_, err = s.AcceptInvitation(ctx, i.Code, new, nil, Noon)
	wants(t, "a second time", err, store.ErrNotFound)
	wants(t, "removing a used one", s.RemoveInvitation(ctx, store.Everyone(), i.ID), store.ErrNotFound)
	if p := must(s.Invitations(ctx, store.Of(other.ID), store.Cursor{}, 5))(t); len(p.Items) > 0 {
		t.Error("somebody else sees it")
	}
	if p := must(s.Invitations(ctx, store.Of(admin.ID), store.Cursor{}, 5))(t); len(p.Items) != 1 || p.Items[0].UsedBy != got.ID {
		t.Errorf("listed: %v", p.Items)
	}
	i.ID, i.Code = NewID[store.InvitationID](t, 'i'), Secret()
	if err := s.AddInvitation(ctx, i); err != nil {
		t.Fatal(err)
	}
	wants(t, "removing another's", s.RemoveInvitation(ctx, store.Of(other.ID), i.ID), store.ErrNotFound)
	if err := s.RemoveInvitation(ctx, store.Of(admin.ID), i.ID); err != nil {
		t.Error(err)
	}
}

func newSession(t *testing.T, s store.Store, u store.User) store.Session {
	t.Helper()
	v := store.Session{ID: NewID[store.SessionID](t, 's'), Secret: Secret(), Owner: u.ID, Device: "Firefox on Linux", Address: "192.0.2.1", Created: Noon, LastSeen: Noon, Expires: Noon.After(time.Hour)}
	if err := s.AddSession(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return v
}

func sessions(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	one, two := newSession(t, s, u), newSession(t, s, u)
	newSession(t, s, other)
	got, who, err := s.Session(ctx, one.Secret, Noon)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the session", got, one)
	same(t, "its user", who, u)
	for what, try := range map[string]func() error{
		"another secret": func() error { _, _, err := s.Session(ctx, Secret(), Noon); return err },
		"no secret":      func() error { _, _, err := s.Session(ctx, store.Hash{}, Noon); return err },
		"too late":       func() error { _, _, err := s.Session(ctx, one.Secret, one.Expires); return err },
		"a year later":   func() error { _, _, err := s.Session(ctx, one.Secret, one.Expires.After(year)); return err },
		"rotating what is over": func() error {
			return s.RotateSession(ctx, one.Secret, Secret(), one.Expires.After(year), one.Expires.After(year))
		},
		"ending another's": func() error {
			return s.EndSession(ctx, other.ID, one.ID, Noon)
		},
		"rotating what isn't": func() error { return s.RotateSession(ctx, Secret(), Secret(), Noon, Noon) },
	} {
		wants(t, what, try(), store.ErrNotFound)
	}
	fresh, later := Secret(), Noon.After(time.Minute)
	if err := s.RotateSession(ctx, one.Secret, fresh, later, later); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Session(ctx, one.Secret, later)
	wants(t, "the old secret", err, store.ErrNotFound)
	got, _, err = s.Session(ctx, fresh, later)
	one.Secret, one.Proven, one.LastSeen = fresh, later, later
	wants(t, "the new secret", err, nil)
	same(t, "rotated", got, one)
	wants(t, "seen earlier", s.SeeSession(ctx, one.ID, Noon), nil)
	if got, _, _ := s.Session(ctx, fresh, later); got.LastSeen != later {
		t.Error("last seen went back")
	}
	if n := must(s.EndSessions(ctx, u.ID, one.ID, later))(t); n != 1 {
		t.Errorf("%d others ended", n)
	}
	_, _, err = s.Session(ctx, two.Secret, later)
	wants(t, "an ended one", err, store.ErrNotFound)
	wants(t, "rotating an ended one", s.RotateSession(ctx, two.Secret, Secret(), later, later), store.ErrNotFound)
	same(t, "devices", must(s.Sessions(ctx, u.ID, later))(t), []store.Session{one})
	u.Disabled = true
	must(s.ChangeUser(ctx, u))(t)
	_, _, err = s.Session(ctx, fresh, later)
	wants(t, "of a disabled user", err, store.ErrNotFound)
	wants(t, "ending it", s.EndSession(ctx, u.ID, one.ID, later), nil)
	wants(t, "ending it again", s.EndSession(ctx, u.ID, one.ID, later), store.ErrNotFound)
}

func tokens(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	v := store.Token{ID: NewID[store.TokenID](t, 't'), Secret: Secret(), Prefix: "pdk_ab", Name: "ci", Owner: u.ID, Scopes: store.Words{"run", "read"}, Created: Noon, Expires: Noon.After(time.Hour)}
	if err := s.AddToken(ctx, v); err != nil {
		t.Fatal(err)
	}
	again := v
	again.ID = NewID[store.TokenID](t, 't')
	wants(t, "the same secret", s.AddToken(ctx, again), store.ErrExists)
	got, who, err := s.Token(ctx, v.Secret, Noon)
	wants(t, "finding it", err, nil)
	same(t, "the token", got, v)
	same(t, "its user", who, u)
	off := u
	off.Disabled = true
	off = must(s.ChangeUser(ctx, off))(t)
	_, _, err = s.Token(ctx, v.Secret, Noon)
	wants(t, "of who is disabled", err, store.ErrNotFound)
	off.Disabled = false
	must(s.ChangeUser(ctx, off))(t)
	for _, late := range []time.Duration{0, time.Microsecond, year} {
		_, _, err = s.Token(ctx, v.Secret, v.Expires.After(late))
		wants(t, "too late", err, store.ErrNotFound)
	}
	wants(t, "noting its use", s.SeeToken(ctx, v.ID, Noon.After(time.Second)), nil)
	v.LastUsed = Noon.After(time.Second)
	for _, scope := range []store.Scope{store.Of(u.ID), store.Everyone()} {
		same(t, "listed", must(s.Tokens(ctx, scope, store.Cursor{}, 5))(t).Items, []store.Token{v})
	}
	if p := must(s.Tokens(ctx, store.Of(other.ID), store.Cursor{}, 5))(t); len(p.Items) > 0 {
		t.Error("somebody else sees it")
	}
	wants(t, "revoking another's", s.RevokeToken(ctx, store.Of(other.ID), v.ID, Noon), store.ErrNotFound)
	wants(t, "revoking it", s.RevokeToken(ctx, store.Everyone(), v.ID, Noon), nil)
	_, _, err = s.Token(ctx, v.Secret, Noon)
	wants(t, "a revoked one", err, store.ErrNotFound)
}

func links(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Admin)
	l := store.LoginLink{Secret: Secret(), Owner: u.ID, Purpose: "first", Created: Noon, Expires: Noon.After(time.Hour)}
	if err := s.AddLink(ctx, l); err != nil {
		t.Fatal(err)
	}
	for _, late := range []time.Duration{0, time.Microsecond, year} {
		_, _, err := s.UseLink(ctx, l.Secret, l.Expires.After(late))
		wants(t, "too late", err, store.ErrNotFound)
	}
	got, who, err := s.UseLink(ctx, l.Secret, Noon)
	wants(t, "using it", err, nil)
	l.Used = Noon
	same(t, "the link", got, l)
	same(t, "its user", who, u)
	_, _, err = s.UseLink(ctx, l.Secret, Noon)
	wants(t, "a second time", err, store.ErrNotFound)
	l.Secret, l.Used = Secret(), store.Moment{}
	if err := s.AddLink(ctx, l); err != nil {
		t.Fatal(err)
	}
	NewUser(t, s, store.Admin)
	u.Disabled = true
	must(s.ChangeUser(ctx, u))(t)
	_, _, err = s.UseLink(ctx, l.Secret, Noon)
	wants(t, "of a disabled user", err, store.ErrNotFound)
}

func forgetting(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Admin)
	newSession(t, s, u)
	Enqueue(t, s, NewRun(t, u.ID, Noon)) // with a nonce
	for _, err := range []error{
		s.AddLink(ctx, store.LoginLink{Secret: Secret(), Owner: u.ID, Created: Noon, Expires: Noon.After(time.Hour)}),
		s.AddInvitation(ctx, store.Invitation{ID: NewID[store.InvitationID](t, 'i'), Code: Secret(), Role: store.Viewer, Owner: u.ID, Created: Noon, Expires: Noon.After(time.Hour)}),
	} {
		wants(t, "adding", err, nil)
	}
	if n := must(s.Forget(ctx, Noon, 100))(t); n != 0 {
		t.Errorf("%d were forgotten that are good", n)
	}
	if n := must(s.Forget(ctx, Noon.After(2*time.Hour), 100))(t); n != 4 {
		t.Errorf("%d of 4 were forgotten", n)
	}
}

// forms tries what can't be kept, of each sort, on the way in.
func forms(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	for _, text := range []string{"a\x00b", "a\xffb", "a\nb", strings.Repeat("x", 10*store.MostText), "\x1b[31m"} {
		run := NewRun(t, u.ID, Noon)
		run.Label = text
		_, _, err := s.Enqueue(ctx, run, "0123456789abcdef")
		wants(t, "a run's label", err, store.ErrInvalid)
		for what, err := range map[string]error{
			"a user":       s.AddUser(ctx, store.User{ID: "u1", Name: text, Role: store.Viewer, Created: Noon}),
			"an identity":  s.AddIdentity(ctx, store.Identity{Issuer: text, Subject: "1", Owner: u.ID, Created: Noon}),
			"a token":      s.AddToken(ctx, store.Token{ID: "t1", Secret: Secret(), Name: text, Owner: u.ID, Created: Noon, Expires: Noon}),
			"scopes":       s.AddToken(ctx, store.Token{ID: "t1", Secret: Secret(), Name: "n", Scopes: store.Words{text}, Owner: u.ID, Created: Noon, Expires: Noon}),
			"a session":    s.AddSession(ctx, store.Session{ID: "s1", Secret: Secret(), Device: text, Owner: u.ID, Created: Noon, Expires: Noon}),
			"a link":       s.AddLink(ctx, store.LoginLink{Secret: Secret(), Purpose: text, Owner: u.ID, Created: Noon, Expires: Noon}),
			"a factor":     s.AddFactor(ctx, store.Factor{ID: "f1", Kind: text, Owner: u.ID, Created: Noon}),
			"a workspace":  s.AddWorkspace(ctx, store.Workspace{ID: "w1", Name: text, Root: "r", Owner: u.ID, Created: Noon}),
			"an invitee":   s.AddInvitation(ctx, store.Invitation{ID: "i1", Code: Secret(), Role: store.Viewer, Invitee: text, Owner: u.ID, Created: Noon, Expires: Noon}),
			"a worker":     s.AddWorker(ctx, store.Worker{ID: "k1", Name: text, Credential: Secret(), Mode: store.Open, Created: Noon}),
			"an approval":  s.Ask(ctx, store.Approval{ID: "a1", Run: "r1", Owner: u.ID, Ask: store.Blob("x"), Created: Noon, Expires: Noon, State: "x" + "\n"}),
			"a vote's key": s.AddVote(ctx, store.Vote{Approval: "a1", Key: text, Envelope: store.Blob("x"), Created: Noon}),
		} {
			wants(t, what, err, store.ErrInvalid)
		}
	}
	for what, err := range map[string]error{
		"no id":        s.AddUser(ctx, store.User{Name: "n", Role: store.Viewer, Created: Noon}),
		"no role":      s.AddUser(ctx, store.User{ID: "u1", Name: "n", Created: Noon}),
		"no time":      s.AddUser(ctx, store.User{ID: "u1", Name: "n", Role: store.Viewer}),
		"before 1970":  s.AddUser(ctx, store.User{ID: "u1", Name: "n", Role: store.Viewer, Created: store.At(time.Unix(-1, 0))}),
		"no secret":    s.AddSession(ctx, store.Session{ID: "s1", Owner: u.ID, Created: Noon, Expires: Noon}),
		"no end":       s.AddSession(ctx, store.Session{ID: "s1", Secret: Secret(), Owner: u.ID, Created: Noon}),
		"an id of all": s.AddWorkspace(ctx, store.Workspace{ID: "../w", Name: "n", Root: "r", Owner: u.ID, Created: Noon}),
		"no mode":      s.SetWorkerMode(ctx, "k1", ""),
		"twice":        s.AddWorker(ctx, store.Worker{ID: "k1", Name: "n", Labels: store.Words{"a", "a"}, Credential: Secret(), Mode: store.Open, Created: Noon}),
		"a huge blob":  s.AddFactor(ctx, store.Factor{ID: "f1", Kind: "k", Owner: u.ID, Data: make(store.Blob, store.MostOutcome+1), Created: Noon}),
	} {
		wants(t, what, err, store.ErrInvalid)
	}
}
