package plans

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// PruneTasks forgets the checklists that have been complete for age, and returns them.
// With dry they stay.
func (a *Plans) PruneTasks(ctx context.Context, p paddock.Principal, age time.Duration, dry bool) ([]task.Checklist, error) {
	if err := a.prunes(p, age); err != nil {
		return nil, err
	}
	return a.tasks().Prune(ctx, a.exec.Now().Add(-age), dry)
}

// PruneDelegates has the results go that nobody acknowledged for age, and returns them.
// With dry they stay.
func (a *Plans) PruneDelegates(ctx context.Context, p paddock.Principal, age time.Duration, dry bool) ([]delegate.Delegate, error) {
	if err := a.prunes(p, age); err != nil {
		return nil, err
	}
	room, err := a.delegates(ctx, p)
	if err != nil {
		return nil, err
	}
	return room.Book().Prune(ctx, p.ID, a.exec.Now().Add(-age), dry)
}

// prunes refuses all but operators, and what says no age.
func (a *Plans) prunes(p paddock.Principal, age time.Duration) error {
	if err := a.house.Named(p); err != nil {
		return err
	}
	switch why := a.exec.ReadOnly(); {
	case p.Kind != paddock.Operator:
		return paddock.Refused(paddock.Forbidden, "Only an operator may say what is kept.")
	case why != nil:
		return paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	case age <= 0:
		return paddock.Refused(paddock.InvalidRequest, "The age must be positive; it says how long ago the last change was.")
	}
	return nil
}
