//go:build linux

package rundir

import (
	"testing"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/testproc"
)

// Nobody who waited means nobody who could start it: it is over and was never begun.
func TestWaitingWithoutAnybody(t *testing.T) {
	t.Parallel()
	s := open(t)
	asked := intent(alice)
	asked.Waits = true
	d := prepare(t, s, newID(t, 1), asked)
	publish(t, s, d, "")
	if run, err := d.Record(time.Now()); err != nil || run.State != paddock.Waiting || run.StartedAt != nil {
		t.Fatalf("%+v, %v", run, err)
	}
	if lost := reconcile(t, s); len(lost) != 0 {
		t.Fatalf("with somebody who waits it is settled: %v", lost)
	}
	if err := testproc.Alone(d.ReleaseLock); err != nil {
		t.Fatal(err)
	}
	if lost := reconcile(t, s); len(lost) != 1 {
		t.Fatalf("settled: %v", lost)
	}
	run, err := d.Record(time.Now())
	if err != nil || run.State != paddock.Killed || run.Outcome.Reason.Kind != paddock.ReasonCallerGone {
		t.Errorf("%+v, %v", run, err)
	}
}

// One that was approved and on its way is lost, as any other is.
func TestApprovedWithoutAnybody(t *testing.T) {
	t.Parallel()
	s := open(t)
	asked := intent(alice)
	asked.Waits = true
	d := prepare(t, s, newID(t, 1), asked)
	publish(t, s, d, "")
	if err := waiting.End(d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := testproc.Alone(d.ReleaseLock); err != nil {
		t.Fatal(err)
	}
	if lost := reconcile(t, s); len(lost) != 1 {
		t.Fatalf("settled: %v", lost)
	}
	if run, err := d.Record(time.Now()); err != nil || run.State != paddock.Lost {
		t.Errorf("%+v, %v", run, err)
	}
}
