package executor

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"paddock"
	"paddock/internal/control/boot"
)

// leased starts a leased run that goes on until it is ended.
func (f *fixture) leased(t *testing.T, lasts time.Duration) paddock.RunID {
	t.Helper()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.e.StartLeased(t.Context(), id, boot.Clock()+lasts, request("sleep 600"))
	if err != nil || run.ID != id || run.State != paddock.Running {
		t.Fatalf("%+v, %v", run, err)
	}
	return id
}

func TestALeasedRunIsStartedOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	id := f.leased(t, time.Hour)
	if _, err := f.e.StartLeased(t.Context(), id, boot.Clock()+time.Hour, request("sleep 600")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second start: %v", err)
	}
	if ids, err := f.e.Leases.All(); err != nil || len(ids) != 1 || ids[0] != id {
		t.Errorf("the leases are %v, %v", ids, err)
	}
	if err := f.e.Extend(t.Context(), id, boot.Clock()+2*time.Hour); err != nil {
		t.Error(err)
	}
	run, err := f.e.Kill(t.Context(), id, Ending{})
	if err != nil || run.State != paddock.Killed || run.Outcome.Reason.Kind != paddock.ReasonKill {
		t.Errorf("%+v, %v", run.Outcome, err)
	}
	if err := f.e.Extend(t.Context(), id, boot.Clock()+3*time.Hour); err != nil {
		t.Errorf("one that is over is extended: %v", err)
	}
	if err := f.e.Leases.Drop(id); err != nil {
		t.Error(err)
	}
	if ids, err := f.e.Leases.All(); err != nil || len(ids) != 0 {
		t.Errorf("the leases are %v, %v", ids, err)
	}
}

func TestALeasedRunEndsWithoutItsWorker(t *testing.T) {
	t.Parallel()
	f := open(t)
	id, err := paddock.NewRunID(time.Now(), nil)
	must(t, err)
	// On a busy machine the time may be over when it starts, which ends it as well.
	_, err = f.e.StartLeased(t.Context(), id, boot.Clock()+2*time.Second, request("sleep 600"))
	must(t, err)
	run, err := f.e.Wait(t.Context(), id)
	if err != nil || run.State != paddock.Killed || run.Outcome.Reason.Kind != paddock.ReasonLease {
		t.Errorf("%+v, %v", run.Outcome, err)
	}
}

// What was begun for a lease that is gone when its supervisor is to have it isn't started
// as something that nobody ends.
func TestALeaseIsGoneBeforeTheStart(t *testing.T) {
	t.Parallel()
	var f *fixture
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f = open(t, func(c *Config) { // the last that is read before, when its lease was taken already
		c.Now = func() time.Time {
			if f != nil && f.e.Leases.Ours(id) {
				if err := f.e.Leases.Drop(id); err != nil {
					t.Error(err)
				}
			}
			return time.Now()
		}
	})
	run, err := f.e.StartLeased(t.Context(), id, boot.Clock()+time.Hour, request("sleep 600"))
	if err != nil || run.State != paddock.FailedToStart || run.StartedAt != nil {
		t.Errorf("%+v, %v", run, err)
	}
}
