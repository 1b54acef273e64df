package leases

import (
	"errors"
	"testing"
	"time"

	"paddock"
)

func TestALeaseIsOneProcesss(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := In(state), In(state)
	if until, err := theirs.Until(id); until != 0 || err != nil {
		t.Errorf("nobody leased it: %v, %v", until, err)
	}
	if err := ours.Take(id, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Take(id, time.Hour); err == nil {
		t.Error("it was taken twice")
	}
	if until, err := ours.Until(id); until != int64(time.Hour) || err != nil {
		t.Errorf("ours: %v, %v", until, err)
	}
	if _, err := theirs.Until(id); !errors.Is(err, ErrAnothers) || !theirs.Anothers(id) {
		t.Errorf("theirs: %v", err)
	}
	theirs.Extend(id, 2*time.Hour) // the next process of the worker
	if until, err := theirs.Until(id); until != int64(2*time.Hour) || err != nil {
		t.Errorf("taken up: %v, %v", until, err)
	}
	if err := theirs.Drop(id); err != nil {
		t.Error(err)
	}
	if until, err := theirs.Until(id); until != 0 || err != nil {
		t.Errorf("dropped: %v, %v", until, err)
	}
}
