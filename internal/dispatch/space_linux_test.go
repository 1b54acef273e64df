package dispatch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

// A workspace has a name in rows, which is that of all that a clone made in it.
func TestNamesOfWorkspaces(t *testing.T) {
	t.Parallel()
	roots := []string{"/srv/spaces", "/data/"}
	site := rows.Workspace("/srv/spaces/ann/site", roots)
	for dir, same := range map[string]bool{
		"/srv/spaces/ann/site/tree": true, "/srv/spaces/ann/site/a/b": true,
		"/srv/spaces/ann/sites": false, "/srv/spaces/bob/site": false, "/data/ann/site": false, "/srv/spaces/ann": false, "/elsewhere/ann/site/tree": false,
	} {
		if got := rows.Workspace(dir, roots); got == "" || len(got) > store.MostID || (got == site) != same {
			t.Errorf("%s is %s, and the workspace %s", dir, got, site)
		}
	}
	if rows.Workspace("/data/ann/site/tree", roots) != rows.Workspace("/data/ann/site", roots) {
		t.Error("a root that ends with a slash")
	}
	if got := rows.Workspace("", roots); got != "" {
		t.Errorf("no workspace is %s", got)
	}
}

// Of one workspace no more runs are on workers than there may be; others go on.
func TestRunsOfAWorkspace(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	site, other := filepath.Join(b.work, "alice", "site"), filepath.Join(b.work, "alice", "other")
	tree := filepath.Join(site, "tree")
	for _, dir := range []string{tree, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	v, _ := b.serve(s, false, func(m *dispatch.Machine) { m.Limits.Workspace, m.Spaces = 1, []string{b.work} })
	start := func(dir, script string) paddock.Run {
		t.Helper()
		req := request(alice, script)
		req.Command.Workspace = dir
		run, err := v.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	gate := filepath.Join(site, "gate")
	first := start(site, "until test -e gate; do sleep 0.05; done")
	row(t, s, first.ID, func(r store.Run) bool { return r.State == paddock.Running })
	for _, dir := range []string{site, tree} {
		run := start(dir, "exit 0")
		if run.State != paddock.Queued || run.Workspace != dir {
			t.Errorf("in %s: %+v", dir, run)
		}
		defer func() {
			r := settled(t, s, run.ID)
			if r.State != paddock.Exited || r.Workspace != rows.Workspace(site, []string{b.work}) {
				t.Errorf("when there was room: %+v", r)
			}
			if known := rows.Record(r, &b.key.Public, time.Now()); known.WorkspaceMark != string(r.Workspace) || known.Workspace != "" {
				t.Errorf("its row says %+v", known)
			}
		}()
	}
	for _, dir := range []string{other, ""} {
		if run, err := v.Wait(t.Context(), alice, start(dir, "exit 0").ID, time.Minute); err != nil || run.State != paddock.Exited {
			t.Errorf("in %q: %+v, %v", dir, run, err)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
