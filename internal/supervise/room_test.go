//go:build linux

package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/control/handover"
	"paddock/internal/rundir/record/durable/losses"
)

// What is beyond the cap is dropped where the policy says so: the run comes to its
// own end, and what was lost is told to the byte.
func TestCapDrops(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `head -c 300000 /dev/zero; echo ok >&2; head -c 150000 /dev/zero >&2; exit 3`)
	f.job.OutputCap, f.job.Limits.AtLimit = 100_000, paddock.AtLimitDrop
	got := f.run()
	if got.State != paddock.Exited || *got.Reason.ExitCode != 3 {
		t.Fatalf("%+v", got)
	}
	for sum, want := range map[paddock.StreamSummary]int64{got.Stdout: 200_000, got.Stderr: 50_003} {
		l := sum.Loss
		if sum.Bytes != 100_000 || sum.Dropped != want || l == nil || l.Bytes != want || l.Offset != 100_000 ||
			l.Cause != paddock.ReasonOutputLimit || l.First.IsZero() || l.Last.Before(l.First) {
			t.Errorf("%+v, %+v; want %d dropped", sum, l, want)
		}
	}
}

// While the run goes on its record says that it drops, and so does that of a run
// whose supervisor vanished.
func TestDroppingIsSeenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `printf 123456789; while ! test -e gate; do sleep 0.05; done`)
	f.job.OutputCap, f.job.Limits.AtLimit = 5, paddock.AtLimitDrop
	var live paddock.Run
	got := f.run(func() {
		for len(live.Losses()) == 0 {
			var err error
			if live, err = f.dir.Record(time.Now()); err != nil {
				t.Fatal(err)
			}
			if live.State.Settled() {
				t.Fatal("it is settled")
			}
		}
		if err := os.WriteFile(filepath.Join(f.job.Dir, "gate"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if live.Stdout.Dropped != 4 || live.Losses()[0].Offset != 5 || !strings.Contains(live.Losses()[0].String(), "4 bytes of stdout after byte 5 were dropped") {
		t.Errorf("%+v", live.Losses())
	}
	if got.State != paddock.Exited || got.Stdout.Dropped != 4 {
		t.Errorf("%+v", got)
	}
	other := prepare(t, f.state, []string{"true"})
	if err := losses.Note(other.Path(), live.Losses()); err != nil {
		t.Fatal(err)
	}
	if err := other.ReleaseLock(); err != nil {
		t.Fatal(err)
	}
	var o *paddock.Outcome
	for o == nil { // a child that another test forks just now holds the lock until it executes
		if _, err := f.state.Reconcile(t.Context(), time.Now); err != nil {
			t.Fatal(err)
		}
		var err error
		if o, err = other.Outcome(); err != nil {
			t.Fatal(err)
		}
	}
	if o.State != paddock.Lost || o.Stdout.Dropped != 4 || o.Stdout.Loss == nil {
		t.Errorf("%+v", o)
	}
}

// At the reserve a run ends, or drops, as the policy says, and is recorded.
func TestDiskReserve(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", paddock.AtLimitDrop} {
		f := newFixture(t, `head -c 100000 /dev/zero`)
		f.job.Reserve, f.job.Limits.AtLimit = 1000, at
		go func() {
			f.done <- Run(f.t.Context(), f.job, f.files, f.their, Options{After: f.clock.After, Free: func() (int64, error) { return 1000, nil }})
		}()
		if err := <-f.done; err != nil {
			t.Error(err)
		}
		f.ours.Close()
		got, err := f.dir.Outcome()
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		if got.Stdout.Bytes != 0 || got.Stdout.Loss == nil || got.Stdout.Loss.Cause != paddock.ReasonDiskReserve {
			t.Errorf("%+v", got.Stdout)
		}
		switch {
		case at == "" && (got.State != paddock.Killed || got.Reason.Kind != paddock.ReasonDiskReserve || got.Reason.Limit != 1000):
			t.Errorf("%+v", got)
		case at != "" && (got.State != paddock.Exited || got.Stdout.Dropped != 100_000):
			t.Errorf("%+v", got)
		}
		if err := f.dir.ReleaseLock(); err != nil {
			t.Error(err)
		}
	}
}

// A supervisor of another release isn't given what it would pass over.
func TestJobOfBefore(t *testing.T) {
	t.Parallel()
	if err := Run(context.WithoutCancel(t.Context()), Job{Version: handover.JobVersion - 1}, Files{}, nil, Options{}); err == nil {
		t.Error("a job of another version is carried out")
	}
}

// What a quota left is kept of both streams together, and then the run ends, or goes
// on without.
func TestQuotaEndsOrDrops(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", paddock.AtLimitDrop} {
		f := newFixture(t, `head -c 3000 /dev/zero; head -c 30000 /dev/zero >&2; while test -e gate; do sleep 0.05; done; exit 3`)
		f.job.Room, f.job.RoomBy, f.job.Limits.AtLimit = 10_000, "principal.kept", at
		if at == "" { // it is ended, and not by itself
			if err := os.WriteFile(filepath.Join(f.job.Dir, "gate"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := f.run()
		if kept := got.Stdout.Bytes + got.Stderr.Bytes; kept != 10_000 {
			t.Errorf("%q: %d bytes are kept", at, kept)
		}
		if got.Stderr.Loss == nil || got.Stderr.Loss.Cause != paddock.ReasonQuota {
			t.Errorf("%q: %+v", at, got.Stderr)
		}
		switch {
		case at == "" && (got.State != paddock.Killed || got.Reason.Kind != paddock.ReasonQuota || got.Reason.Limit != 10_000 || got.Reason.Detail != "`quotas.principal.kept`"):
			t.Errorf("%s, %+v", got.State, got.Reason)
		case at != "" && (got.State != paddock.Exited || got.Stdout.Dropped+got.Stderr.Dropped != 23_000):
			t.Errorf("%s, %+v", got.State, got.Stderr)
		}
	}
}

// The time of processors that a run took is in its outcome.
func TestProcessorsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `i=0; while test $i -lt 200000; do i=$((i+1)); done`)
	if got := f.run(); got.CPU <= 0 {
		t.Errorf("%+v", got)
	}
}

// A program that prints ten times its limit ends, or goes on, with the limit kept to
// the byte and the rest counted. The long one is of 10 GiB.
func TestTenTimesTheLimit(t *testing.T) {
	limit := int64(1 << 20)
	if os.Getenv("PADDOCK_LONG") != "" {
		limit = 1 << 30
	}
	for _, at := range []string{paddock.AtLimitEnd, paddock.AtLimitDrop} {
		f := newFixture(t, fmt.Sprintf("head -c %d /dev/zero", 10*limit))
		f.job.OutputCap, f.job.Limits.AtLimit = limit, at
		f.job.Timeout = paddock.Duration(10 * time.Minute)
		got := f.run()
		if got.Stdout.Bytes != limit || got.Stdout.Loss == nil || got.Stdout.Loss.Offset != limit {
			t.Errorf("%s: %+v", at, got.Stdout)
		}
		switch {
		case at == paddock.AtLimitEnd && got.State != paddock.OutputLimit:
			t.Errorf("%s, %+v", got.State, got.Reason)
		case at == paddock.AtLimitDrop && (got.State != paddock.Exited || got.Stdout.Dropped != 9*limit):
			t.Errorf("%s, %+v, %+v", got.State, got.Reason, got.Stdout)
		}
	}
}
