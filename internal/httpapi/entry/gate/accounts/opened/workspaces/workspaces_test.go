package workspaces

import (
	"context"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/dispatch/rows"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type all = store.Workspaces

// kept has a workspace site of every account.
type kept struct{ all }

func (kept) WorkspaceNamed(_ context.Context, owner store.UserID, name string) (store.Workspace, error) {
	if name != "site" {
		return store.Workspace{}, store.ErrNotFound
	}
	return store.Workspace{ID: "w", Owner: owner, Name: name, Root: "/srv", Path: string(owner) + "/site"}, nil
}

// A token for a workspace sees the runs there, also of those of which a row is all that is
// known, and no others.
func TestSees(t *testing.T) {
	t.Parallel()
	s := New(Config{Store: kept{}, Roots: []string{"/srv"}, Now: time.Now})
	mark := func(dir string) string { return string(rows.Workspace(dir, s.Roots)) }
	token := gate.Caller{Name: "ann", Who: auth.Who{User: "ann", Token: "t", Workspaces: []string{"site", "gone"}}}
	sees, err := s.Sees(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		run  paddock.Run
		want bool
	}{
		{paddock.Run{Workspace: "/srv/ann/site"}, true},
		{paddock.Run{Workspace: "/srv/ann/site/tree"}, true},
		{paddock.Run{WorkspaceMark: mark("/srv/ann/site")}, true},
		{paddock.Run{WorkspaceMark: mark("/srv/ann/site/tree")}, true},
		{paddock.Run{Workspace: "/srv/ann/other", WorkspaceMark: mark("/srv/ann/site")}, false},
		{paddock.Run{WorkspaceMark: mark("/srv/bob/site")}, false},
		{paddock.Run{Workspace: "/srv/ann/sites"}, false},
		{paddock.Run{Workspace: "/srv/ann"}, false},
		{paddock.Run{Dir: "/srv/ann/site"}, false},
		{paddock.Run{}, false},
	} {
		if got := sees(one.run); got != one.want {
			t.Errorf("%+v is seen: %t", one.run, got)
		}
	}
	if sees, err := s.Sees(t.Context(), gate.Caller{Name: "ann"}); err != nil || sees != nil {
		t.Errorf("for all: %v", err)
	}
}
