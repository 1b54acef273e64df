package plans

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/journal/short/removed"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// Stale says what goes of what is settled: what is older than Age, and of the rest all
// but the newest Most. One of them must be said.
type Stale struct {
	Age  time.Duration
	Most *int
}

// PruneTasks forgets complete checklists that are stale, and returns them. With dry they
// stay. The journal is told before.
func (a *Plans) PruneTasks(ctx context.Context, p paddock.Principal, s Stale, dry bool) ([]task.Checklist, error) {
	stale, err := a.prunes(p, s)
	if err != nil {
		return nil, err
	}
	return a.tasks().Prune(ctx, stale, telling(ctx, a, p, dry, removed.Checklists, func(c task.Checklist) string { return c.Principal.ID }))
}

// PruneDelegates has stale results go that nobody acknowledged, and returns them. With
// dry they stay. The journal is told before.
func (a *Plans) PruneDelegates(ctx context.Context, p paddock.Principal, s Stale, dry bool) ([]delegate.Delegate, error) {
	stale, err := a.prunes(p, s)
	if err != nil {
		return nil, err
	}
	room, err := a.delegates(ctx, p)
	if err != nil {
		return nil, err
	}
	return room.Book().Prune(ctx, p.ID, stale, telling(ctx, a, p, dry, removed.Results, func(d delegate.Delegate) string { return d.ID }))
}

// telling returns what tells the journal of things that go; nil where they don't.
func telling[T any](ctx context.Context, a *Plans, p paddock.Principal, dry bool, what string, id func(T) string) func([]T) error {
	if dry {
		return nil
	}
	return func(all []T) error {
		var ids []string
		for _, one := range all {
			ids = append(ids, id(one))
		}
		return a.exec.Forgotten(ctx, p, removed.PlansOf(what, ids))
	}
}

// prunes refuses all but operators, and what says neither an age nor a number.
func (a *Plans) prunes(p paddock.Principal, s Stale) (stale task.Stale, err error) {
	if err := a.house.Named(p); err != nil {
		return stale, err
	}
	switch why := a.exec.ReadOnly(); {
	case p.Kind != paddock.Operator:
		return stale, paddock.Refused(paddock.Forbidden, "Only an operator may say what is kept.")
	case why != nil:
		return stale, paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	case s.Age < 0 || s.Age == 0 && s.Most == nil:
		return stale, paddock.Refused(paddock.InvalidRequest, "The age must be positive; it says how long ago the last change was.")
	case s.Most != nil && *s.Most < 0:
		return stale, paddock.Refused(paddock.InvalidRequest, "The number of those that stay can't be less than 0.")
	}
	if stale.Most = s.Most; s.Age > 0 {
		stale.Since = a.exec.Now().Add(-s.Age)
	}
	return stale, nil
}
