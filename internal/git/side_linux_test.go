//go:build linux

package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/git/query"
)

// meeting lets no run end before as many have been started as are to meet.
type meeting struct {
	Executor
	want int

	mu      sync.Mutex
	started int
	met     chan struct{}
}

func (m *meeting) StartBeside(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	run, err := m.Executor.StartBeside(ctx, req)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started++; m.started == m.want {
		close(m.met)
	}
	return run, err
}

func (m *meeting) Wait(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	select {
	case <-m.met:
		return m.Executor.Wait(ctx, id)
	case <-ctx.Done():
		return paddock.Run{}, ctx.Err()
	}
}

// sided is a repository in which revisions can be said that only git resolves.
func sided(t *testing.T, sections string) (*world, map[string]string) {
	t.Helper()
	w := newWorldWith(t, paddock.Off, sections)
	w.commit()
	w.git("tag", "-a", "-m", "x", "note", "HEAD~1") // which isn't packed
	ids := map[string]string{}
	for _, ref := range []string{"HEAD", "HEAD~1", "note", "note~0", "main^", "main^{commit}"} {
		ids[ref] = strings.TrimSpace(w.git("rev-parse", ref+"^{commit}"))
	}
	return w, ids
}

// What a revision stands for is asked while the answer is, where an id is known from
// which it goes on.
func TestResolvedWhileItIsAnswered(t *testing.T) {
	t.Parallel()
	w, ids := sided(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, q := range []query.Query{
		query.Diff{Base: "HEAD~1"}, query.Diff{Base: "note", Head: "HEAD"}, query.Blame{Ref: "main^", In: "a.txt"}, query.MergeBase{Base: "note~0", Head: "HEAD"},
		query.Log{Ref: "HEAD~1", In: "a.txt"}, query.Grep{Ref: "note", Pattern: "one"}, query.Grep{Ref: "HEAD~1", Pattern: "one", Count: true},
	} {
		w.room = New(&meeting{Executor: w.exec, want: 2, met: make(chan struct{})})
		a, err := w.room.Ask(ctx, Ask{Principal: alice, Door: paddock.DoorGo, Query: q})
		must(t, err)
		if !a.OK || len(a.Revisions) != len(q.Refs()) || len(a.Commits)+len(a.Files)+len(a.Lines)+len(a.Matches)+len(a.Counts)+len(a.Base) == 0 {
			t.Fatalf("%#v: %+v", q, a)
		}
		for i, ref := range q.Refs() {
			if a.Revisions[i] != (Revision{ref, ids[ref]}) {
				t.Errorf("%#v: %q is %+v, want %s", q, ref, a.Revisions[i], ids[ref])
			}
		}
		for _, m := range a.Matches {
			if m.Path != "a.txt" {
				t.Errorf("%#v: %+v", q, m)
			}
		}
	}
}

// Where only one run at once is allowed, where a revision names nothing, and where git says what it is in
// another way, the answer is as ever.
func TestResolvedBeforeWhereItMustBe(t *testing.T) {
	t.Parallel()
	w, ids := sided(t, "limits: {concurrent: 1}\n")
	for range 3 { // whichever of two comes first
		for _, q := range []query.Query{query.Diff{Base: "HEAD~1", Head: "HEAD"}, query.Blame{Ref: "note", In: "a.txt"}, query.Diff{Base: ids["HEAD"][:12], Head: "main^{commit}"}} {
			a := w.ask(q)
			var got []string
			for _, r := range a.Revisions {
				got = append(got, r.ID)
			}
			var want []string
			for _, ref := range q.Refs() {
				want = append(want, strings.TrimSpace(w.git("rev-parse", ref+"^{commit}")))
			}
			if !a.OK || !slices.Equal(got, want) {
				t.Errorf("%#v: %+v", q, a)
			}
		}
	}
	for _, q := range []query.Query{
		query.Diff{Base: "HEAD~5"}, query.Diff{Base: "HEAD", Head: "main~2"}, query.Blame{Ref: "note^2", In: "a.txt"}, query.Grep{Ref: "HEAD~9", Pattern: "one"},
		query.MergeBase{Base: "HEAD~1", Head: "note~7"}, query.Log{Ref: strings.TrimSpace(w.git("rev-parse", "HEAD^{tree}")) + "~1", In: "a.txt"},
	} {
		_, err := w.try(q)
		refused(t, err, paddock.RevisionInvalid)
	}
	if a := w.ask(query.Blame{Ref: "HEAD~1", In: "nowhere"}); a.OK || len(a.Revisions) != 1 {
		t.Errorf("%+v", a)
	}
}

// refusals are those that are written down.
func (w *world) refusals() (n int) {
	w.t.Helper()
	must(w.t, filepath.WalkDir(w.base+"/state/journal", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		n += strings.Count(string(text), `"kind":"refusal"`)
		return err
	}))
	return n
}

// Where there is no room for two runs of a question, the second waits for the first, and nothing
// is written down as refused: whoever asked was allowed it. What is refused alone is told and written.
func TestNoRoomForTwoIsNoRefusal(t *testing.T) {
	t.Parallel()
	w, ids := sided(t, "limits: {concurrent: 1}\nquotas: {principal: {runs_per_hour: 9}}\n")
	for range 4 {
		a := w.ask(query.Diff{Base: "HEAD~1"})
		if !a.OK || len(a.Files) != 1 || len(a.Revisions) != 1 || a.Revisions[0].ID != ids["HEAD~1"] {
			t.Fatalf("%+v", a)
		}
	}
	if n := w.refusals(); n != 0 {
		t.Errorf("%d refusals are written down", n)
	}
	for n := range 2 { // of the first question, one run is let in
		_, err := w.try(query.Diff{Base: "HEAD~1"})
		refused(t, err, paddock.QuotaExceeded)
		if got := w.refusals(); got != n+1 {
			t.Errorf("%d refusals are written down, want %d", got, n+1)
		}
	}
}

// What is refused before a run is started is written down as well, once, and what was refused.
func TestRefusedBeforeARunIsWritten(t *testing.T) {
	t.Parallel()
	w, _ := sided(t, "")
	must(t, os.Symlink("../outside", w.root+"/out"))
	for n, c := range []struct {
		ask  Ask
		code paddock.Code
	}{
		{Ask{Query: query.Diff{Base: "--output=x"}}, paddock.RevisionInvalid},
		{Ask{Query: query.Status{}, Root: w.outside}, paddock.CwdOutsideRoot},
		{Ask{Query: query.Status{}, Root: w.root + "/.git"}, paddock.PathOutsideRoot},
		{Ask{Query: query.Status{In: "../outside"}}, paddock.PathOutsideRoot},
		{Ask{Query: query.Status{In: "out/secret.txt"}}, paddock.PathOutsideRoot},
	} {
		c.ask.Principal, c.ask.Door = alice, paddock.DoorGo
		_, err := w.room.Ask(t.Context(), c.ask)
		refused(t, err, c.code)
		if got := w.refusals(); got != n+1 {
			t.Errorf("%+v: %d refusals are written down, want %d", c.ask, got, n+1)
		}
	}
}
