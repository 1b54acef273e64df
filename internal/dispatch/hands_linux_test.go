package dispatch_test

import (
	"errors"
	"testing"
	"time"

	"paddock"
	"paddock/internal/control/boot"
	"paddock/internal/dispatch/machine/hands"
	"paddock/internal/executor/leases"
	"paddock/internal/lease/order"
)

// Whoever looks around while a run is being started finds its lease, and no run yet. The
// lease stays: else the run would be one that nobody leased, which nothing ends when its
// worker falls silent.
func TestALeaseStaysWhileItsRunIsStarted(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	h := hands.New(t.Context(), hands.Config{Executor: b.exec, Now: time.Now})
	defer h.Close()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	until := boot.Clock() + time.Minute
	if err := b.exec.Leases.Take(id, until); err != nil {
		t.Fatal(err)
	}
	if live, err := h.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("%v, %v", live, err)
	}
	if at, err := b.exec.Leases.Until(id); err != nil || at != int64(until) {
		t.Errorf("its lease lasts until %d, %v", at, err)
	}
	// An earlier process's is of a run that it began no more.
	before := leases.In(b.state)
	other, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Take(other, until); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Live(t.Context()); err != nil {
		t.Error(err)
	}
	if ids, err := b.exec.Leases.All(); err != nil || len(ids) != 1 || ids[0] != id {
		t.Errorf("what is left: %v, %v", ids, err)
	}
}

// A run that is refused never comes to be, and leaves no lease.
func TestARefusedRunLeavesNoLease(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	h := hands.New(t.Context(), hands.Config{Executor: b.exec, Now: time.Now})
	defer h.Close()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req := request(alice, "true")
	req.Command.Argv[0] = "forbidden"
	o, err := order.New(id, req, time.Now(), time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	var refused *paddock.Refusal
	if err := h.Launch(t.Context(), o, time.Now().Add(time.Minute)); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	if ids, err := b.exec.Leases.All(); err != nil || len(ids) != 0 {
		t.Errorf("what is left: %v, %v", ids, err)
	}
}
