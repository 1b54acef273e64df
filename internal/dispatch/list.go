package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch/answers"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

// mostLooks is how many directories one list opens to learn whose and what they are.
const mostLooks = 2000

// List returns runs that p may see, newest first: those of the state directory here, and
// those that are only rows. A page has fewer, and a next, where more would have to be
// looked at than one list does.
func (f *Front) List(ctx context.Context, p paddock.Principal, filter app.Filter) (app.Listing, error) {
	filter.Looks, filter.Copies = mostLooks, f.copies.During(ctx)
	here, broken := f.App.List(ctx, p, filter)
	var some *app.Unreadable
	if broken != nil && !errors.As(broken, &some) {
		return here, broken
	}
	limit := cmp.Or(filter.Limit, 50)
	known := map[paddock.RunID]*paddock.Run{}
	for i, run := range here.Runs {
		known[run.ID] = &here.Runs[i]
	}
	others, end, err := f.others(ctx, p, filter, limit, known, here.Next)
	if err != nil {
		return app.Listing{}, err
	}
	for id, run := range known { // what goes on here and has no row that does
		if run.State.Settled() {
			continue
		}
		if *run, err = f.ours(ctx, id, *run); err != nil {
			return app.Listing{}, err
		}
	}
	// Both know everything down to where they stopped, and no more.
	end = max(end, here.Next)
	all := slices.DeleteFunc(append(here.Runs, others...), func(run paddock.Run) bool { return run.ID < end || filter.Active && run.State.Settled() })
	slices.SortFunc(all, func(a, b paddock.Run) int { return cmp.Compare(b.ID, a.ID) })
	if len(all) > limit {
		all = all[:limit]
		end = all[limit-1].ID
	}
	return app.Listing{Runs: all, Next: end}, broken
}

// others are up to limit runs that aren't among those that are known, and not before the
// least that is wanted. They are all down to end, which is empty when there are no more.
// Those that are known come out as their rows say.
func (f *Front) others(ctx context.Context, p paddock.Principal, filter app.Filter, limit int, known map[paddock.RunID]*paddock.Run, least paddock.RunID) (runs []paddock.Run, end paddock.RunID, err error) {
	states := []paddock.State{""}
	if filter.Active {
		states = []paddock.State{paddock.Waiting, paddock.Queued, paddock.Starting, paddock.Running, paddock.Unreachable}
	}
	for _, state := range states {
		got, stopped, err := rows.Page(ctx, f.cfg.Runs, rows.Scope(p), state, rows.Place{Before: filter.Before, Least: least, Limit: limit}, func(row store.Run) (paddock.Run, bool, error) {
			if here := known[row.ID]; here != nil {
				*here = rows.Agreed(f.cfg.Shared, f.record(row), *here)
				delete(known, row.ID)
				return paddock.Run{}, false, nil
			}
			return f.listed(ctx, p, row, filter)
		})
		if err != nil {
			return nil, "", err
		}
		runs, end = append(runs, got...), max(end, stopped)
	}
	return runs, end, nil
}

// listed is what a list says of a row: what its directory does where that is here.
func (f *Front) listed(ctx context.Context, p paddock.Principal, row store.Run, filter app.Filter) (paddock.Run, bool, error) {
	run := f.record(row)
	if filter.Label != "" && filter.Label != run.Label { // which never changes
		return run, false, nil
	}
	if row.Worker != "" && row.Worker == f.cfg.Worker {
		here, err := f.App.Look(ctx, p, row.ID)
		if err != nil && !answers.IsHidden(err) {
			return run, false, err
		}
		if err == nil {
			run = rows.Agreed(f.cfg.Shared, f.record(row), here)
		}
	}
	return run, !(filter.Active && run.State.Settled()), nil
}
