package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

func isGone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// List returns runs that p may see, newest first: those of the state directory here, and
// those that are only rows.
func (f *Front) List(ctx context.Context, p paddock.Principal, filter app.Filter) (app.Listing, error) {
	here, broken := f.App.List(ctx, p, filter)
	var some *app.Unreadable
	if broken != nil && !errors.As(broken, &some) {
		return here, broken
	}
	limit := cmp.Or(filter.Limit, 50)
	known := map[paddock.RunID]bool{}
	for _, run := range here.Runs {
		known[run.ID] = true
	}
	others, more, err := f.others(ctx, p, filter, limit, known)
	if err != nil {
		return app.Listing{}, err
	}
	all := append(here.Runs, others...)
	slices.SortFunc(all, func(a, b paddock.Run) int { return cmp.Compare(b.ID, a.ID) })
	listing := app.Listing{Runs: all}
	if len(all) > limit {
		listing.Runs, more = all[:limit], true
	}
	if (more || here.Next != "") && len(listing.Runs) > 0 {
		listing.Next = listing.Runs[len(listing.Runs)-1].ID
	}
	return listing, broken
}

// others are up to limit runs that aren't among those that are known.
func (f *Front) others(ctx context.Context, p paddock.Principal, filter app.Filter, limit int, known map[paddock.RunID]bool) (runs []paddock.Run, more bool, err error) {
	states := []paddock.State{""}
	if filter.Active {
		states = []paddock.State{paddock.Waiting, paddock.Queued, paddock.Starting, paddock.Running, paddock.Unreachable}
	}
	for _, state := range states {
		got, rest, err := f.rowsIn(ctx, p, filter, state, limit, known)
		if err != nil {
			return nil, false, err
		}
		runs, more = append(runs, got...), more || rest
	}
	return runs, more, nil
}

func (f *Front) rowsIn(ctx context.Context, p paddock.Principal, filter app.Filter, state paddock.State, limit int, known map[paddock.RunID]bool) (runs []paddock.Run, more bool, err error) {
	var at store.Cursor
	if filter.Before != "" {
		at = store.Cursor{Created: store.At(filter.Before.Time()), ID: string(filter.Before)}
	}
	for len(runs) < limit {
		page, err := f.cfg.Runs.Runs(ctx, rows.Scope(p), store.RunFilter{State: state}, at, limit)
		if err != nil {
			return nil, false, err
		}
		for _, row := range page.Items {
			if known[row.ID] {
				continue
			}
			run, ok, err := f.listed(ctx, p, row, filter)
			if err != nil {
				return nil, false, err
			}
			if ok {
				runs = append(runs, run)
			}
		}
		if at = page.Next; !page.More {
			return runs, false, nil
		}
	}
	return runs, true, nil
}

// listed is what a list says of a row: what its directory does where that is here.
func (f *Front) listed(ctx context.Context, p paddock.Principal, row store.Run, filter app.Filter) (paddock.Run, bool, error) {
	run := f.record(row)
	if row.Worker != "" && row.Worker == f.cfg.Worker {
		here, err := f.App.Look(ctx, p, row.ID)
		if err != nil && !isHidden(err) {
			return run, false, err
		}
		if err == nil {
			run = here
		}
	}
	return run, (filter.Label == "" || filter.Label == run.Label) && !(filter.Active && run.State.Settled()), nil
}
