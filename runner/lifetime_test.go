//go:build linux

package runner

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/app/retention"
)

// A key is its run's for as long as there is a record of that: through restarts,
// after its end, without its output, and while the index is made again.
func TestKeyLivesAsLongAsItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	command := Command{Argv: []string{"sh", "-c", "echo once >> log"}, IdempotencyKey: "the key"}
	first, err := w.r.Start(t.Context(), command)
	must(t, err)
	first = w.settle(first)
	same := func(when string) {
		t.Helper()
		got, err := w.r.Start(t.Context(), command)
		must(t, err)
		if got.ID != first.ID || got.State != Exited {
			t.Errorf("%s the key is of %s (%s), want %s", when, got.ID, got.State, first.ID)
		}
		other := command
		other.Argv = []string{"sh", "-c", "echo twice >> log"}
		_, err = w.r.Start(t.Context(), other)
		refused(t, err, paddock.Conflict)
	}
	same("after its end")
	must(t, w.r.Close())
	w.r = w.open()
	same("after a restart")

	// Until its last thread is gone the supervisor has the lock, and nothing is pruned.
	until(t, "the supervisor is gone", func() bool { return unix.Kill(first.Supervisor.PID, 0) != nil })
	operator := paddock.Principal{Kind: paddock.Operator, ID: "operator:of a test"}
	later := func() time.Time { return time.Now().Add(48 * time.Hour) }
	keep, err := retention.Open(t.Context(), operator, w.state, later, func(err error) { t.Error(err) })
	must(t, err)
	defer keep.Close()
	gone := func(l retention.Limits) (n int) {
		t.Helper()
		must(t, keep.Prune(t.Context(), l, false, func(retention.Item) error { n++; return nil }))
		return n
	}
	if n := gone(retention.Limits{Age: time.Hour}); n != 1 {
		t.Fatalf("the output of %d runs was pruned", n)
	}
	same("without its output")
	if n := gone(retention.Limits{Records: time.Hour}); n != 1 {
		t.Fatalf("%d records were pruned", n)
	}
	// With the record the key's life is over.
	got, err := w.r.Start(t.Context(), command)
	must(t, err)
	if got.ID == first.ID {
		t.Error("the key is still of a run whose record is gone")
	}
	w.settle(got)
}

// A key is any text, and what isn't text is refused.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	command := Command{Argv: []string{"sh", "-c", ":"}}
	seen := map[RunID]string{}
	for _, key := range []string{"../../etc/passwd", "/", ".", "a\nb", "\u202e", strings.Repeat("k", 200), "k", "K", " k", "k "} {
		command.IdempotencyKey = key
		for range 2 {
			run, err := w.r.Start(t.Context(), command)
			must(t, err)
			if other, there := seen[run.ID]; there && other != key {
				t.Errorf("the keys %q and %q are one", key, other)
			}
			seen[run.ID] = key
			w.settle(run)
		}
	}
	for _, key := range []string{"\x00", "a\x00b", "\xff", "k\xc3", strings.Repeat("k", 2000)} {
		command.IdempotencyKey = key
		_, err := w.r.Start(t.Context(), command)
		refused(t, err, paddock.InvalidRequest)
	}
	if len(seen) != 10 {
		t.Errorf("%d runs of 10 keys", len(seen))
	}
}
