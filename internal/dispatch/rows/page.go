package rows

import (
	"context"

	"paddock"
	"paddock/internal/store"
)

// mostPassed is how many rows are passed over for a page.
const mostPassed = 5000

// A Place says where a page is: before a run, not before the least one, and how many
// there are on it.
type Place struct {
	Before, Least paddock.RunID
	Limit         int
}

// A Lister lists rows. [store.Store] is one.
type Lister interface {
	Runs(ctx context.Context, s store.Scope, f store.RunFilter, after store.Cursor, most int) (store.Page[store.Run], error)
}

// Page returns what of makes of rows, newest first, but for those of which it says that
// they aren't wanted. It is all of them down to end, which is empty where no more are.
func Page(ctx context.Context, l Lister, scope store.Scope, state paddock.State, p Place, of func(store.Run) (paddock.Run, bool, error)) (runs []paddock.Run, end paddock.RunID, err error) {
	var at store.Cursor
	if p.Before != "" {
		at = store.Cursor{Created: store.At(p.Before.Time()), ID: string(p.Before)}
	}
	for passed, most := 0, p.Limit+1; ; most = store.MostPage { // more at once where most are passed over
		page, err := l.Runs(ctx, scope, store.RunFilter{State: state}, at, min(most, store.MostPage))
		if err != nil {
			return nil, "", err
		}
		for _, row := range page.Items {
			if row.ID < p.Least {
				return runs, "", nil
			}
			if len(runs) == p.Limit || passed == mostPassed {
				return runs, end, nil
			}
			passed, end = passed+1, row.ID
			run, ok, err := of(row)
			if err != nil {
				return nil, "", err
			}
			if ok {
				runs = append(runs, run)
			}
		}
		if at = page.Next; !page.More {
			return runs, "", nil
		}
	}
}
