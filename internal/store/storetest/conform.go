package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/store"
)

// Conform tests the store that open opens, empty, for each test.
func Conform(t *testing.T, open func(testing.TB) store.Store) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"users", users}, {"the first user", firstUser}, {"the last admin", lastAdmin}, {"identities", identities}, {"factors", factors},
		{"invitations", invitations}, {"sessions", sessions}, {"tokens", tokens}, {"links", links}, {"forgetting", forgetting},
		{"workspaces", workspaces}, {"pages", pages}, {"forms", forms},
		{"enqueue", enqueue}, {"filters", filters}, {"cancel", cancel}, {"admit and turn", admitAndTurn}, {"keeping", keeping}, {"copies", copies}, {"latest", latest},
		{"claim", claim}, {"offers", offers}, {"line", lines}, {"fences", fences}, {"silence", silence}, {"workers", workers}, {"takeover", takeover}, {"each run is claimed once", oneClaim}, {"claims take turns", claimsTakeTurns},
		{"approvals", approvals}, {"counts", counts},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

func wants(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func users(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	same(t, "by id", must(s.User(ctx, u.ID))(t), u)
	same(t, "by name", must(s.UserNamed(ctx, u.Name))(t), u)
	_, err := s.UserNamed(ctx, u.Name+"\x00")
	wants(t, "a name with NUL", err, store.ErrNotFound)
	_, err = s.UserNamed(ctx, "\xff")
	wants(t, "a name that isn't UTF-8", err, store.ErrNotFound)
	other := u
	other.ID = NewID[store.UserID](t, 'u')
	wants(t, "the same name", s.AddUser(ctx, other), store.ErrExists)
	changed := u
	changed.Name, changed.Role, changed.Password, changed.Disabled, changed.Changed = "new", store.Approver, "$argon2id$", true, Noon.After(time.Second)
	kept := must(s.ChangeUser(ctx, changed))(t)
	changed.Revision++
	same(t, "changed", kept, changed)
	same(t, "kept", must(s.User(ctx, u.ID))(t), changed)
	_, err = s.ChangeUser(ctx, u)
	wants(t, "an old revision", err, store.ErrStale)
	u.ID = "unone"
	_, err = s.ChangeUser(ctx, u)
	wants(t, "nobody", err, store.ErrNotFound)
}

func firstUser(t *testing.T, s store.Store) {
	u := store.User{ID: NewID[store.UserID](t, 'u'), Name: "first", Role: store.Admin, Created: Noon}
	if err := s.AddFirstUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	u.ID, u.Name = NewID[store.UserID](t, 'u'), "second"
	wants(t, "a second first", s.AddFirstUser(t.Context(), u), store.ErrExists)
}

func lastAdmin(t *testing.T, s store.Store) {
	ctx := t.Context()
	one, two := NewUser(t, s, store.Admin), NewUser(t, s, store.Admin)
	one.Disabled = true
	must(s.ChangeUser(ctx, one))(t)
	two.Role = store.Viewer
	_, err := s.ChangeUser(ctx, two)
	wants(t, "no admin left", err, store.ErrLastAdmin)
	if got := must(s.User(ctx, two.ID))(t); got.Role != store.Admin {
		t.Errorf("the last admin is %s", got.Role)
	}
}

func identities(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Viewer), NewUser(t, s, store.Viewer)
	i := store.Identity{Issuer: "https://issuer.example", Subject: "42", Owner: u.ID, Label: "u@example", Created: Noon}
	if err := s.AddIdentity(ctx, i); err != nil {
		t.Fatal(err)
	}
	stolen := i
	stolen.Owner = other.ID
	wants(t, "the same subject", s.AddIdentity(ctx, stolen), store.ErrExists)
	stolen.Subject, stolen.Owner = "43", "unobody"
	wants(t, "of nobody", s.AddIdentity(ctx, stolen), store.ErrNotFound)
	i.LastUsed = Noon.After(time.Minute)
	same(t, "seen", must(s.Identity(ctx, i.Issuer, i.Subject, i.LastUsed))(t), i)
	same(t, "listed", must(s.Identities(ctx, u.ID))(t), []store.Identity{i})
	elsewhere := store.Identity{Issuer: "https://other.example", Subject: "45", Owner: other.ID, Created: Noon}
	if err := s.AddIdentity(ctx, elsewhere); err != nil {
		t.Fatal(err)
	}
	for what, of := range map[string][2]string{"an unknown subject": {i.Issuer, "44"}, "what another issuer calls so": {"https://other.example", "42"}, "whom another issuer knows": {i.Issuer, "45"}, "no issuer": {"", "42"}} {
		_, err := s.Identity(ctx, of[0], of[1], Noon)
		wants(t, what, err, store.ErrNotFound)
	}
	same(t, "not seen", must(s.Identities(ctx, other.ID))(t), []store.Identity{elsewhere})
	wants(t, "of another issuer", s.RemoveIdentity(ctx, other.ID, i.Issuer, "45"), store.ErrNotFound)
	wants(t, "another's", s.RemoveIdentity(ctx, other.ID, i.Issuer, i.Subject), store.ErrNotFound)
	if err := s.RemoveIdentity(ctx, u.ID, i.Issuer, i.Subject); err != nil {
		t.Error(err)
	}
}

func factors(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Viewer), NewUser(t, s, store.Viewer)
	f := store.Factor{ID: NewID[store.FactorID](t, 'f'), Owner: u.ID, Kind: "passkey", Name: "key", Handle: "h", Data: store.Blob("d"), Created: Noon}
	if err := s.AddFactor(ctx, f); err != nil {
		t.Fatal(err)
	}
	again := f
	again.ID, again.Owner = NewID[store.FactorID](t, 'f'), other.ID
	wants(t, "the same handle", s.AddFactor(ctx, again), store.ErrExists)
	again.Handle = ""
	if err := s.AddFactor(ctx, again); err != nil {
		t.Error("without a handle:", err)
	}
	same(t, "by handle", must(s.FactorByHandle(ctx, "h"))(t), f)
	_, err := s.FactorByHandle(ctx, "")
	wants(t, "by none", err, store.ErrNotFound)
	for _, tc := range []struct {
		counter int64
		want    error
	}{{0, nil}, {5, nil}, {5, store.ErrOver}, {0, store.ErrOver}, {6, nil}} {
		wants(t, "using it", s.UseFactor(ctx, u.ID, f.ID, tc.counter, []byte("e"), Noon), tc.want)
	}
	wants(t, "using another's", s.UseFactor(ctx, other.ID, f.ID, 9, nil, Noon), store.ErrNotFound)
	wants(t, "removing another's", s.RemoveFactor(ctx, other.ID, f.ID), store.ErrNotFound)
	f.Counter, f.Data, f.LastUsed = 6, store.Blob("e"), Noon
	same(t, "listed", must(s.Factors(ctx, u.ID))(t), []store.Factor{f})
	if err := s.RemoveFactor(ctx, u.ID, f.ID); err != nil {
		t.Error(err)
	}
}

func workspaces(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	w := store.Workspace{ID: NewID[store.WorkspaceID](t, 'w'), Owner: u.ID, Name: "site", Root: "src", Path: "a/b", Created: Noon}
	if err := s.AddWorkspace(ctx, w); err != nil {
		t.Fatal(err)
	}
	again := w
	again.ID = NewID[store.WorkspaceID](t, 'w')
	wants(t, "the same name", s.AddWorkspace(ctx, again), store.ErrExists)
	same(t, "own", must(s.Workspace(ctx, store.Of(u.ID), w.ID))(t), w)
	same(t, "everybody's", must(s.Workspace(ctx, store.Everyone(), w.ID))(t), w)
	for _, scope := range []store.Scope{store.Of(other.ID), {}} {
		_, err := s.Workspace(ctx, scope, w.ID)
		wants(t, "out of scope", err, store.ErrNotFound)
		wants(t, "archiving out of scope", s.ArchiveWorkspace(ctx, scope, w.ID, Noon), store.ErrNotFound)
		if p := must(s.Workspaces(ctx, scope, store.Cursor{}, 10))(t); len(p.Items) > 0 {
			t.Errorf("listed out of scope: %v", p.Items)
		}
	}
	if err := s.ArchiveWorkspace(ctx, store.Of(u.ID), w.ID, Noon); err != nil {
		t.Error(err)
	}
	_, err := s.WorkspaceNamed(ctx, u.ID, w.Name)
	wants(t, "the name of an archived one", err, store.ErrNotFound)
	if err := s.AddWorkspace(ctx, again); err != nil {
		t.Error("the name is free again:", err)
	}
	same(t, "by name", must(s.WorkspaceNamed(ctx, u.ID, w.Name))(t), again)
}

func pages(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	var ids []paddock.RunID
	for n := range 7 { // some of them at one time
		ids = append(ids, Enqueue(t, s, NewRun(t, u.ID, Noon.After(time.Duration(n/3)*time.Second))).ID)
	}
	var got []paddock.RunID
	var after store.Cursor
	for more := true; more; {
		p := must(s.Runs(ctx, store.Of(u.ID), store.RunFilter{}, after, 2))(t)
		for _, r := range p.Items {
			got = append(got, r.ID)
		}
		after, more = p.Next, p.More
		Enqueue(t, s, NewRun(t, u.ID, Noon.After(time.Hour))) // what comes at the head moves nobody
	}
	seen := map[paddock.RunID]bool{}
	for i, id := range got[min(2, len(got)):] {
		if seen[id] {
			t.Errorf("%s is listed twice, at %d", id, i)
		}
		seen[id] = true
	}
	if len(got) != len(ids) {
		t.Errorf("listed %d of %d", len(got), len(ids))
	}
	for _, most := range []int{0, -1, 1 << 40} {
		if p := must(s.Runs(ctx, store.Of(u.ID), store.RunFilter{}, store.Cursor{}, most))(t); len(p.Items) < len(ids) || p.More {
			t.Errorf("a page of %d has %d", most, len(p.Items))
		}
	}
	_, err := s.Runs(ctx, store.Of(u.ID), store.RunFilter{}, store.Cursor{Created: Noon, ID: "\x00"}, 1)
	wants(t, "a hostile cursor", err, store.ErrInvalid)
}
