package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/machine"
	"paddock/internal/dispatch/rows"
	"paddock/internal/dispatch/rows/agree"
	"paddock/internal/rundir"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/trace"
)

// reconcile brings a store and the box's directory together, an hour from now, and returns
// what was found and what was written down.
func (b *box) reconcile(s store.Runs, dry bool) (agree.Report, []string, []string) {
	b.t.Helper()
	state, err := rundir.Open(b.state)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := state.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	var found, written []string
	c := agree.Config{State: state, Store: s, Worker: machine.WorkerOf(&b.key.Public), Now: func() time.Time { return time.Now().Add(time.Hour) }, Older: agree.Recent, Each: func(f agree.Finding) error {
		found = append(found, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Run, f.Mend, f.Detail))
		return nil
	}}
	if !dry {
		c.Record = func(_ context.Context, what string) error { written = append(written, what); return nil }
	}
	r, err := agree.Reconcile(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(found)
	return r, found, written
}

// glance is what a server says at its start, an hour from now.
func (b *box) glance(s store.Runs) string {
	b.t.Helper()
	said, err := agree.Glance(b.t.Context(), agree.Config{Store: s, Worker: machine.WorkerOf(&b.key.Public), Now: func() time.Time { return time.Now().Add(time.Hour) }}, b.state)
	if err != nil {
		b.t.Fatal(err)
	}
	return said
}

// ended carries out a run through a service and waits until its row is settled.
func (b *box) ended(v *dispatch.Service, s store.Runs, p paddock.Principal, script string) paddock.Run {
	b.t.Helper()
	run, err := v.Start(b.t.Context(), request(p, script))
	if err != nil {
		b.t.Fatal(err)
	}
	settled(b.t, s, run.ID)
	if run, err = v.Status(b.t.Context(), p, run.ID); err != nil {
		b.t.Fatal(err)
	}
	return run
}

// Whatever of store and directory was lost, what is left of a run is told truly in both
// again, for whom it was; and nothing is started for it.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *tables.Tables{
		"sqlite": file, "postgres": func(t *testing.T) *tables.Tables { return database(t, storetest.Database(t), postgres.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, old := newBox(t), open(t)
			mark := filepath.Join(b.work, "mark")
			v, stop := b.serve(old, false, nil)
			known, other := b.ended(v, old, alice, "echo x >>"+mark), b.ended(v, old, bob, "exit 3")
			if r, found, _ := b.reconcile(old, false); r.Changed != 0 || r.Left != 0 || r.Runs != 2 || r.Rows != 2 || len(found) != 0 {
				t.Errorf("where all is well: %+v %q", r, found)
			}
			stop()

			fresh := open(t) // the database is gone, or is of before
			row, nonce, err := rows.Entry(request(bob, "exit 3"), rows.Placement{}, "", trace.Context{}, b.key, time.Now())
			row.ID = other.ID
			if err == nil {
				_, _, err = fresh.Enqueue(t.Context(), row, nonce)
			}
			if err != nil {
				t.Fatal(err)
			}
			if said := b.glance(fresh); !strings.Contains(said, "know 1 of the newest") {
				t.Errorf("a glance at it: %q", said)
			}
			r, found, _ := b.reconcile(fresh, true)
			if _, err := fresh.Run(t.Context(), store.Everyone(), known.ID); err == nil || r.Changed != 2 {
				t.Errorf("only looking changes: %+v %q", r, found)
			}
			r, found, written := b.reconcile(fresh, false)
			if r.Changed != 2 || r.Left != 0 || len(written) != 2 || !strings.HasPrefix(found[1], "no-row "+string(known.ID)+" done") || !strings.HasPrefix(found[0], "differs "+string(other.ID)+" done") {
				t.Errorf("%+v %q %q", r, found, written)
			}
			for _, want := range []struct {
				run paddock.Run
				of  paddock.Principal
			}{{known, alice}, {other, bob}} {
				got, err := fresh.Run(t.Context(), store.Of(rows.Owner(want.of)), want.run.ID)
				if err != nil || got.State != paddock.Exited || len(got.Outcome) == 0 || got.Principal != want.of.ID || got.Request != want.run.RequestDigest && want.of == alice {
					t.Errorf("%s: %+v, %v", want.run.ID, got, err)
				}
			}
			if r, found, _ = b.reconcile(fresh, false); r.Changed != 0 || r.Left != 0 {
				t.Errorf("again: %+v %q", r, found)
			}
			if said := b.glance(fresh); said != "" {
				t.Errorf("a glance at it: %q", said)
			}
			v, stop = b.serve(fresh, false, nil)
			if run, err := v.Status(t.Context(), bob, known.ID); !hidden(err) {
				t.Errorf("bob sees %+v, %v", run, err)
			}
			last := b.ended(v, fresh, alice, "true") // the queue works, and only by it something started
			stop()
			if text, err := os.ReadFile(mark); err != nil || string(text) != "x\n" {
				t.Errorf("it ran again: %q, %v", text, err)
			}

			// The directory of one is gone.
			d := directory(t, b.state, last.ID)
			if err := os.RemoveAll(d); err != nil {
				t.Fatal(err)
			}
			v, stop = b.serve(fresh, false, nil)
			var gone *paddock.Refusal
			if page, err := v.Output(t.Context(), alice, last.ID, paddock.PageRequest{}); !errors.As(err, &gone) || gone.Code != paddock.Pruned {
				t.Errorf("without its directory: %+v, %v", page, err)
			}
			stop()
			if said := b.glance(fresh); !strings.Contains(said, "no record here of 1 of the newest") || !strings.Contains(said, "paddock state reconcile --dry-run") {
				t.Errorf("a glance at it: %q", said)
			}
			r, found, _ = b.reconcile(fresh, false)
			got, err := fresh.Run(t.Context(), store.Everyone(), last.ID)
			if err != nil || got.Pruned.IsZero() || got.State != paddock.Exited || r.Changed != 1 || !strings.HasPrefix(found[0], "no-directory "+string(last.ID)+" done") {
				t.Errorf("without its directory: %+v, %v, %+v %q", got, err, r, found)
			}
			if r, found, _ = b.reconcile(fresh, false); r.Changed != 0 || r.Left != 0 {
				t.Errorf("again: %+v %q", r, found)
			}

			// One can't be read, which is told, and others are looked at.
			if err := os.WriteFile(filepath.Join(directory(t, b.state, known.ID), "request.json"), []byte(`{"version": "x\x00"`), 0o600); err != nil {
				t.Fatal(err)
			}
			if r, found, _ = b.reconcile(fresh, false); r.Left != 1 || !strings.HasPrefix(found[0], "unreadable") {
				t.Errorf("%+v %q", r, found)
			}
		})
	}
}

// directory is where a run is kept.
func directory(t *testing.T, state string, id paddock.RunID) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(state, "runs", "*", string(id)))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}
