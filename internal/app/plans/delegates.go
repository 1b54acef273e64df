package plans

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/task/delegate"
)

// Delegate gives a task to an agent of the policy's, in the name of the principal in
// it, and returns at once.
func (a *Plans) Delegate(ctx context.Context, ask delegate.Ask) (delegate.Delegate, error) {
	room, err := a.delegates(ctx, ask.Principal)
	if err != nil {
		return delegate.Delegate{}, err
	}
	d, err := room.Delegate(ctx, ask)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok {
		err = a.house.Discreet(ask.Principal, refusal)
	}
	return d, err
}

// ExplainDelegate judges what Delegate would start, as if nobody's delegate asked, and
// changes nothing.
func (a *Plans) ExplainDelegate(ctx context.Context, ask delegate.Ask) (paddock.Decision, error) {
	if err := a.house.Named(ask.Principal); err != nil {
		return paddock.Decision{}, err
	}
	d, err := delegate.Explain(ctx, a.exec, ask)
	return a.house.Decision(ask.Principal, d), err
}

// CollectDelegates acknowledges results and hands out those that wait. It can be
// repeated: what isn't acknowledged comes again.
func (a *Plans) CollectDelegates(ctx context.Context, c delegate.Collect) (delegate.Collected, error) {
	room, err := a.delegates(ctx, c.Principal)
	if err != nil {
		return delegate.Collected{}, err
	}
	return room.Collect(ctx, c)
}

// CancelDelegate ends a delegate. One that has a result comes back unchanged.
func (a *Plans) CancelDelegate(ctx context.Context, p paddock.Principal, id, why string) (delegate.Delegate, error) {
	room, err := a.delegates(ctx, p)
	if err != nil {
		return delegate.Delegate{}, err
	}
	return room.Cancel(ctx, p, id, why)
}

// Delegates returns those that aren't acknowledged and that p may see.
func (a *Plans) Delegates(ctx context.Context, p paddock.Principal) ([]delegate.Delegate, error) {
	room, err := a.delegates(ctx, p)
	if err != nil {
		return nil, err
	}
	return room.List(ctx, p)
}

// Inside returns the delegate within which this process runs; empty if there is none.
func (a *Plans) Inside(ctx context.Context, p paddock.Principal) (string, error) {
	room, err := a.delegates(ctx, p)
	if err != nil {
		return "", err
	}
	return room.Inside(ctx)
}

// delegates is the room, which is made when somebody asks for it.
func (a *Plans) delegates(ctx context.Context, p paddock.Principal) (*delegate.Room, error) {
	if err := a.house.Named(p); err != nil {
		return nil, err
	}
	if why := a.exec.ReadOnly(); why != nil {
		return nil, paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	}
	a.roomOnce.Do(func() { a.room = delegate.New(ctx, a.exec, a.serve) })
	if a.room == nil {
		return nil, executor.ErrClosed
	}
	return a.room, nil
}
