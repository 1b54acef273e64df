// Package budget says what there is left for one more run: of the disk, and of the
// policy's quotas.
//
// # Limits
//
// It refuses only where the disk has come down to its reserve; of quotas it gives the
// facts, and the policy refuses.
package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/books"
	"paddock/internal/policy"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/trust"
)

// A Budget is that of one state directory.
type Budget struct {
	State *rundir.State
	// Disk says how many bytes of the disk of a directory are free, and how large
	// it is.
	Disk func(dir string) (free, size int64, err error)
}

// Reserve returns how many bytes of the disk output leaves free, and refuses where
// it has come down to them: what is left is for the records of runs that go on.
func (b Budget) Reserve(p *policy.Policy) (int64, *paddock.Refusal) {
	free, size, err := b.Disk(b.State.Path())
	if err != nil {
		return 0, Unrecordable(err)
	}
	reserved := p.Reserve(size)
	if free >= reserved {
		return reserved, nil
	}
	r := paddock.Refused(paddock.Unrecordable, "The disk of the state directory has %d bytes free, and %d are kept in reserve, so no run is started.", free, reserved)
	r.Gate = paddock.GateQuota
	r.Hint = "The operator makes room, by `paddock prune` for example, or says less under `limits.reserve` in the policy."
	return reserved, r
}

// Facts returns how many runs of p go on, and what was used of the quotas, if there
// are any.
func (b Budget) Facts(ctx context.Context, c *rundir.Claim, p paddock.Principal, q paddock.Quotas, now time.Time) (active int, used usage.Facts, err error) {
	if active, err = c.Active(p); err != nil || q == (paddock.Quotas{}) {
		return active, usage.Facts{}, err
	}
	used, err = (&books.Books{State: b.State}).Look(ctx, c, p.Root(), now)
	return active, used, err
}

// A Room is what quotas leave a run for both of its streams. The zero Room is no less
// than the caps of the streams.
type Room struct {
	Bytes int64
	// Counter is the quota that leaves so little.
	Counter string
}

// Take notes that run id of p, whose streams may have most bytes each, may print that
// or what is left.
func (b Budget) Take(ctx context.Context, c *rundir.Claim, p paddock.Principal, id paddock.RunID, q paddock.Quotas, used usage.Facts, most int64) (Room, error) {
	var room Room
	reserved := books.Reserve(most)
	if left, by := usage.Room(usage.Counters(q, used)); by != nil && left < reserved {
		room, reserved = Room{left, by.Name}, left
	}
	at := used.Now
	if at.IsZero() {
		at = id.Time()
	}
	return room, (&books.Books{State: b.State}).Note(ctx, c, p.Root(), id, at, 1, reserved)
}

// Unrecordable refuses because of an error from writing things down.
func Unrecordable(err error) *paddock.Refusal {
	return paddock.Refused(paddock.Unrecordable, "The run can't be written down: %v.", err)
}

// RecordError gives an error from writing a run down its meaning.
func RecordError(ctx context.Context, err error) error {
	var refusal *paddock.Refusal
	switch {
	case err == nil || errors.As(err, &refusal):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case trust.Fault(err):
		return fmt.Errorf("%w: the run can't be written down: %w", paddock.ErrFault, err)
	}
	return Unrecordable(err)
}
