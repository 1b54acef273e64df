// Package attach has the verbs by which somebody sits at the terminal of a run.
// [paddock/internal/app.App] has them among its own.
//
// # Limits
//
// Whether a principal may see a run is said by package app, which hands that in: whoever
// may, may type there. What is typed isn't looked at.
package attach

import (
	"context"
	"errors"
	"io"
	"time"

	"paddock"
	"paddock/internal/executor"
)

// A House says what holds for every verb.
type House struct {
	// May refuses who may not see the run.
	May func(p paddock.Principal, id paddock.RunID) error
	// Follow passes on what a run prints, to its end.
	Follow func(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error
}

// Verbs are those over one state directory.
type Verbs struct {
	exec  *executor.Executor
	house House
}

// New returns the verbs, which act through e.
func New(e *executor.Executor, house House) *Verbs { return &Verbs{e, house} }

// An Attachment is somebody at the terminal of a run.
type Attachment struct {
	// Out gets what is printed, from Offset on.
	Offset int64
	Out    io.Writer
	// Typed is what is asked of the terminal, until it is closed; nil only watches.
	Typed <-chan paddock.Typing
	// Refused is told of what wasn't done. Then the attachment goes on watching.
	Refused func(error)
	// Piped is of what no person types: what the program doesn't read yet is typed when it
	// does, and nothing that comes after it before.
	Piped bool
}

// Type asks something of the terminal of a run: to be the one who types, to be of another
// size, to read something.
func (v *Verbs) Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	if err := v.house.May(p, id); err != nil {
		return err
	}
	if wrong := t.Wrong(); wrong != "" {
		return paddock.Refused(paddock.InvalidRequest, "%s", wrong)
	}
	t.By = p.ID
	return v.exec.Type(ctx, id, t)
}

// Attach passes on what is printed until the run is over and all of it is, and has done what
// is typed meanwhile. When ctx ends, it returns; the run goes on.
func (v *Verbs) Attach(ctx context.Context, p paddock.Principal, id paddock.RunID, a Attachment) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	typed := make(chan error, 1)
	go func() {
		err := v.types(ctx, p, id, a)
		if err != nil {
			cancel()
		}
		typed <- err
	}()
	err := v.house.Follow(ctx, p, id, paddock.Stdout, a.Offset, a.Out)
	cancel()
	if failed := <-typed; failed != nil {
		return failed
	}
	return err
}

// types has done what is typed.
func (v *Verbs) types(ctx context.Context, p paddock.Principal, id paddock.RunID, a Attachment) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case t, more := <-a.Typed:
			if !more {
				a.Typed = nil
				continue
			}
			err := v.Type(ctx, p, id, t)
			for a.Piped && Later(err) && pause(ctx) {
				err = v.Type(ctx, p, id, t)
			}
			var refusal *paddock.Refusal
			if errors.As(err, &refusal) && a.Refused != nil {
				a.Refused(refusal)
			} else if err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// Again is after how long it is tried again to type what the program didn't read yet.
const Again = 50 * time.Millisecond

// Later reports whether what wasn't typed may be when the program has read.
func Later(err error) bool {
	var refusal *paddock.Refusal
	return errors.As(err, &refusal) && refusal.Retryable
}

// pause lets a moment pass, and reports whether it did before ctx ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(Again)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
