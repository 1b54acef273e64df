//go:build linux

package putback_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/putback"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const label = "signed-by-0011223344556677"

// house is a state directory and rows.
type house struct {
	*testing.T
	state string
	rows  store.Store
	owner store.UserID
	next  int
}

func (h *house) nonces() *order.Nonces {
	h.Helper()
	n, err := order.NoncesIn(h.state)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// queue adds a run of a time, and has a worker start it if one is named.
func (h *house) queue(at time.Time, labels ...string) paddock.RunID {
	h.Helper()
	id, err := paddock.NewRunID(at, nil)
	if err != nil {
		h.Fatal(err)
	}
	h.next++
	row := store.Run{ID: id, Owner: h.owner, Principal: "user:a", State: paddock.Queued, Needs: labels, Label: "x", Envelope: []byte("{}"), Request: "sha256:" + paddock.Digest(strings.Repeat("0", 64)), Created: store.At(id.Time())}
	if _, _, err := h.rows.Enqueue(h, row, "nonce-"+string(id)); err != nil {
		h.Fatal(err)
	}
	return id
}

func (h *house) Deadline() (time.Time, bool) { return time.Time{}, false }
func (h *house) Done() <-chan struct{}       { return h.Context().Done() }
func (h *house) Err() error                  { return h.Context().Err() }
func (h *house) Value(key any) any           { return h.Context().Value(key) }
func (h *house) worker(name string) store.WorkerID {
	id := store.WorkerID("w-" + name)
	if err := h.rows.AddWorker(h, store.Worker{ID: id, Name: name, Credential: storetest.Secret(), Mode: store.Open, Created: storetest.Noon}); err != nil {
		h.Fatal(err)
	}
	return id
}

// take has a worker start whatever is queued.
func (h *house) take(id store.WorkerID, at time.Time) {
	h.Helper()
	who, err := h.rows.Enlist(h, id, nil, 100, "", store.At(at))
	if err != nil {
		h.Fatal(err)
	}
	got, err := h.rows.Claim(h, id, who.Epoch, store.Term{Now: store.At(at), Until: store.At(at), LostAfter: store.At(at)}, func(ctx context.Context, l store.Line) (ids []paddock.RunID, err error) {
		all, err := l.Queued(ctx, h.owner, nil, 100)
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		return ids, err
	})
	if err != nil {
		h.Fatal(err)
	}
	for _, r := range got {
		if err := h.rows.Start(h, store.Held{Run: r.ID, Worker: id, Epoch: who.Epoch, Fence: r.Fence}, store.At(at)); err != nil {
			h.Fatal(err)
		}
	}
}

func onBoth(t *testing.T, f func(h *house)) {
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(storetest.Memory(t), "db", "server.db"))
		},
		"postgres": func(t *testing.T) (store.Store, error) {
			return postgres.Open(t.Context(), storetest.Database(t), postgres.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			f(&house{T: t, state: t.TempDir(), rows: s, owner: "p-1"})
		})
	}
}

// TestPutBack has notes that are older than rows found, and nothing older followed then;
// notes that are as old as they should be aren't, whatever others queued.
func TestPutBack(t *testing.T) {
	onBoth(t, func(h *house) {
		at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		check := func(rows putback.Rows, now time.Time) *putback.Gap {
			h.Helper()
			gap, err := putback.Check(h, h.nonces(), rows, now)
			if err != nil {
				h.Fatal(err)
			}
			return gap
		}
		mine, all := putback.Server(h.rows, label, false), putback.Server(h.rows, label, true)
		if gap := check(mine, at); gap != nil { // the first start
			h.Fatal(gap)
		}
		old, err := os.ReadFile(filepath.Join(h.state, order.NoncesDir, "noted"))
		if err != nil {
			h.Fatal(err)
		}
		h.queue(at.Add(-time.Hour), label)
		h.queue(at.Add(putback.Slack-time.Second), label)
		h.queue(at.Add(3*time.Hour), "signed-by-another")
		if gap := check(mine, at.Add(10*time.Hour)); gap != nil {
			h.Error("nothing was put back: ", gap)
		}
		if err := os.WriteFile(filepath.Join(h.state, order.NoncesDir, "noted"), old, 0o600); err != nil {
			h.Fatal(err)
		}
		if gap := check(all, at.Add(2*time.Hour)); gap == nil { // who alone has the rows queued all of them
			h.Error("a row that is newer isn't seen")
		}
		if err := os.WriteFile(filepath.Join(h.state, order.NoncesDir, "noted"), old, 0o600); err != nil {
			h.Fatal(err)
		}
		last := h.queue(at.Add(4*time.Hour), label)
		now := at.Add(10 * time.Hour)
		gap := check(mine, now)
		if gap == nil || gap.Run != last || !gap.Noted.Equal(at) || !strings.Contains(gap.String(), string(last)) {
			h.Fatalf("%+v", gap)
		}
		o := order.Order{Version: 1, Run: last, Made: now.Add(-time.Millisecond), Expires: now.Add(time.Hour), Nonce: strings.Repeat("0", 32)}
		if err := h.nonces().Use(o); !errors.Is(err, order.ErrForgotten) {
			h.Errorf("an older order: %v", err)
		}
		if o.Made = now; h.nonces().Use(o) != nil {
			h.Error("a new order isn't followed")
		}
		if gap := check(mine, now.Add(time.Second)); gap != nil {
			h.Errorf("it is found twice: %v", gap)
		}
	})
}

// TestPutBackOfAWorker is the same by what a worker took, and where no notes are left.
func TestPutBackOfAWorker(t *testing.T) {
	onBoth(t, func(h *house) {
		at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		one, other := h.worker("one"), h.worker("other")
		mine := putback.Worker(h.rows, one)
		for what, want := range map[string]bool{"nothing": false} {
			if gap, err := putback.Check(h, h.nonces(), mine, at); err != nil || (gap != nil) != want {
				h.Errorf("%s: %v, %v", what, gap, err)
			}
		}
		h.queue(at.Add(-time.Hour), label)
		h.take(other, at.Add(time.Hour))
		if gap, err := putback.Check(h, h.nonces(), mine, at.Add(time.Minute)); err != nil || gap != nil {
			h.Errorf("what another one took: %v, %v", gap, err)
		}
		h.queue(at.Add(-time.Hour), label)
		h.take(one, at.Add(time.Hour))
		if gap, err := putback.Check(h, h.nonces(), mine, at.Add(2*time.Hour)); err != nil || gap == nil {
			h.Errorf("what it took later: %v, %v", gap, err)
		}
		if err := os.RemoveAll(filepath.Join(h.state, order.NoncesDir)); err != nil {
			h.Fatal(err)
		}
		if gap, err := putback.Check(h, h.nonces(), mine, at.Add(3*time.Hour)); err != nil || gap == nil || !gap.Noted.IsZero() {
			h.Errorf("without notes: %v, %v", gap, err)
		}
		if err := os.RemoveAll(filepath.Join(h.state, order.NoncesDir)); err != nil {
			h.Fatal(err)
		}
		if gap, err := putback.Check(h, h.nonces(), mine, at.Add(3*24*time.Hour)); err != nil || gap != nil {
			h.Errorf("when no order is good any more: %v, %v", gap, err)
		}
	})
}

// TestClockIsPutBack has a clock that is behind the rows, as of a machine that asks nobody for
// the time before it begins, change nothing: what the newest row may stand for isn't followed,
// it is found once, and whoever runs the server is told why everything is refused.
func TestClockIsPutBack(t *testing.T) {
	onBoth(t, func(h *house) {
		at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		mine := putback.Server(h.rows, label, false)
		start := func(now time.Time, found bool, told string) {
			h.Helper()
			n := h.nonces()
			gap, err := putback.Check(h, n, mine, now)
			if err != nil || (gap != nil) != found {
				h.Fatalf("at %s: %v, %v", now, gap, err)
			}
			if got, err := putback.Ahead(n, now); err != nil || (got == "") != (told == "") || !strings.Contains(got, told) {
				h.Errorf("at %s: %q, %v; want %q", now, got, err, told)
			}
		}
		start(at, false, "")
		h.queue(at.Add(24*time.Hour), label)
		start(at.Add(time.Second), true, "remove nonces/complete-from")
		made := at.Add(24 * time.Hour)
		for later, want := range map[time.Duration]error{0: order.ErrForgotten, time.Millisecond - 1: order.ErrForgotten, 2 * time.Second: nil} {
			o := order.Order{Version: 1, Run: "r", Made: made.Add(later), Expires: made.Add(time.Hour), Nonce: strings.Repeat("0", 32)}
			if err := h.nonces().Use(o); !errors.Is(err, want) {
				h.Errorf("%s later: %v, want %v", later, err, want)
			}
		}
		start(at.Add(time.Minute), false, "remove nonces/complete-from")
		if err := os.Remove(filepath.Join(h.state, order.NoncesDir, "complete-from")); err != nil {
			h.Fatal(err)
		}
		start(at.Add(2*time.Minute), false, "nonces/noted")
		start(made.Add(time.Minute), false, "")
	})
}

// crowd are as many rows of others as are asked for, one a second before the other, from the
// newest on.
type crowd struct {
	newest time.Time
	most   int
	next   int
}

func (c *crowd) Runs(_ context.Context, _ store.Scope, _ store.RunFilter, _ store.Cursor, most int) (page store.Page[store.Run], err error) {
	for ; len(page.Items) < most && c.next < c.most; c.next++ {
		page.Items = append(page.Items, store.Run{Needs: []string{"signed-by-another"}, Created: store.At(c.newest.Add(-time.Duration(c.next) * time.Second))})
	}
	page.More = c.next < c.most
	return page, nil
}

// TestCrowd has nobody hide a row behind many of others, nor a queue refused that can be
// looked through.
func TestCrowd(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const looked = 100_000
	for what, c := range map[string]struct {
		newest time.Duration // after what the notes know
		rows   int
		bare   bool
		worker bool
		found  bool
	}{
		"more than is looked at":       {newest: 1_000_000 * time.Second, rows: looked + 1, found: true},
		"all there are":                {newest: 1_000_000 * time.Second, rows: looked - 1},
		"down to the notes":            {newest: (looked - 1000) * time.Second, rows: looked + 1},
		"of a worker":                  {newest: 1_000_000 * time.Second, rows: looked + 1, worker: true, found: true},
		"of a worker, before its time": {newest: (looked - 1000) * time.Second, rows: looked + 1, worker: true},
		"of who has just come":         {newest: 1_000_000 * time.Second, rows: looked + 1, bare: true},
	} {
		n, err := order.NoncesIn(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if !c.bare {
			if err := n.Note(at); err != nil {
				t.Fatal(err)
			}
		}
		others := &crowd{newest: at.Add(c.newest), most: c.rows}
		rows := putback.Server(others, label, false)
		if c.worker {
			rows = putback.Worker(others, "w-one")
		}
		now := at.Add(c.newest + time.Minute)
		gap, err := putback.Check(t.Context(), n, rows, now)
		if err != nil || (gap != nil) != c.found || n.Complete().Equal(now) != c.found {
			t.Errorf("%s: %v, %v; from %s", what, gap, err, n.Complete())
		}
		if c.found && !strings.Contains(gap.String(), "isn't known") {
			t.Errorf("%s: %s", what, gap)
		}
		others.next = 0
		if gap, err := putback.Check(t.Context(), n, rows, now.Add(time.Minute)); err != nil || gap != nil {
			t.Errorf("%s: a minute later %v, %v", what, gap, err)
		}
	}
}
