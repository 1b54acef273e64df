package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/lease/pause"
	"paddock/internal/store"
)

// Signers are the servers whose orders a worker follows, as far as they can be asked.
type Signers interface {
	// Reaches says whether who has this key can be asked now. What it signed isn't taken
	// from the queue otherwise.
	Reaches(key *sign.Public) bool
	// First returns nil once who has this key said that this process is the first, and so
	// the only one, to follow the order in an envelope. An error that is a refusal says that
	// another one is. It waits for a signer that is away.
	First(ctx context.Context, o order.Order, envelope []byte, by *sign.Public) error
}

// Sole is for a worker beside whom nobody follows the same orders without writing it into
// the same notes: these are enough.
type Sole struct{}

// Reaches implements Signers.
func (Sole) Reaches(*sign.Public) bool { return true }

// First implements Signers.
func (Sole) First(context.Context, order.Order, []byte, *sign.Public) error { return nil }

// ErrUnreached says, with the labels of their keys, that there are servers that can't be
// asked now.
var ErrUnreached = errors.New("what was queued by servers that aren't connected waits until they are")

// How long a run that was claimed waits for its signer: usually, and what may be said
// instead. An order is good for a day.
const (
	usualWait           = 5 * time.Minute
	LeastWait, MostWait = time.Second, 24 * time.Hour
)

// unreached are the labels of keys whose holders can't be asked now.
func (w *Worker) unreached() (labels []string) {
	for _, key := range w.Keys {
		if !w.Signers.Reaches(key) {
			labels = append(labels, order.Signer(key))
		}
	}
	return labels
}

// follow reads a run's order and notes that it is followed, by nobody else either.
func (w *Worker) follow(ctx context.Context, r store.Run, now time.Time) answer {
	o, by, err := order.OpenBy(r.Envelope, r.ID, w.Keys, now)
	if err != nil {
		return answer{state: paddock.RefusedState, err: err}
	}
	switch err := w.Nonces.Use(o); {
	case errors.Is(err, order.ErrUsed), errors.Is(err, order.ErrForgotten):
		return answer{state: paddock.RefusedState, err: err}
	case err != nil:
		return answer{state: paddock.FailedToStart, err: err}
	}
	ctx, over := w.waiting.Enter(ctx, r.ID, min(cmp.Or(w.Waits, usualWait), o.Expires.Sub(now)))
	defer over()
	err = w.Signers.First(ctx, o, r.Envelope, by)
	var refused *paddock.Refusal
	var off pause.Off
	switch {
	case err == nil:
		return answer{order: o}
	case errors.As(err, &refused):
		return answer{state: paddock.RefusedState, err: err}
	case errors.As(context.Cause(ctx), &off):
		return answer{state: paddock.Killed, err: off}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = fmt.Errorf("the server that signed the order didn't say in time that it is for this worker: %w", err)
	case ctx.Err() != nil:
		err = errors.New("the worker ended while the run waited for the server that signed it")
	}
	return answer{state: paddock.FailedToStart, err: err}
}
