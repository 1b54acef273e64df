// Package answers knows what machines and stores answer about runs that can't be shown.
//
// # Limits
//
// Who may see what is decided elsewhere.
package answers

import (
	"context"
	"errors"
	"time"

	"paddock"
	"paddock/internal/store"
)

// Hidden is the answer about what isn't there, and about what isn't the asker's.
func Hidden() error {
	return paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
}

// Unless is Hidden where the store says that there is no such row, else what it says.
func Unless(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return Hidden()
	}
	return err
}

// IsHidden reports whether err is such an answer.
func IsHidden(err error) bool { return is(err, paddock.NotFound) }

// IsAway reports whether the worker isn't connected, now that it was asked.
func IsAway(err error) bool { return is(err, paddock.Away) }

func is(err error, code paddock.Code) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == code
}

// NotBegun is the refusal of what is typed to a run that nobody carries out.
func NotBegun() error {
	r := paddock.Refused(paddock.Conflict, "The run hasn't started, or is over: nobody reads what is typed.")
	r.Hint = "Look at the run's state, and read what it printed."
	return r
}

// Gone is what err means, which a machine said of the output of a run that has that row: if
// it doesn't know the run, and the run is over, its record was there once.
func Gone(err error, row *store.Run) error {
	if !IsHidden(err) || row == nil || row.Settled.IsZero() {
		return err
	}
	r := paddock.Refused(paddock.Pruned, "The output of run %s isn't there any more: its machine, the worker %s, has no record of it. Either it was removed, or that machine's disk was lost or put back.", row.ID, row.Worker)
	r.Hint = "Its state and outcome are known all the same."
	return r
}

// Nothing is the page of a run that hasn't begun.
func Nothing(run paddock.Run, req paddock.PageRequest) paddock.Page {
	if req.Stream == "" {
		req.Stream = paddock.Stdout
	}
	return paddock.Page{Stream: req.Stream, Offset: req.Offset, NextOffset: req.Offset, Encoding: "utf-8", EOF: run.State.Settled()}
}

// Pass lets a moment pass for who waits for more of a run that hasn't begun.
func Pass(ctx context.Context, run paddock.Run, req paddock.PageRequest, most time.Duration) error {
	if run.State.Settled() || req.Wait <= 0 {
		return nil
	}
	timer := time.NewTimer(min(most, time.Duration(req.Wait)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
