package tables

import (
	"context"
	"fmt"
	"strings"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/tables/queries"
)

// PutCopies keeps some.
func (t *Tables) PutCopies(ctx context.Context, some []store.Copy) error {
	for _, c := range some {
		if _, err := paddock.ParseRunID(string(c.Run)); err != nil || c.Stamp <= 0 || len(c.Record) == 0 || len(c.Record) > store.MostRecord {
			return fmt.Errorf("%w: the copy of run %.40q", store.ErrInvalid, string(c.Run))
		}
	}
	return t.change(ctx, func(q *queries.Queries) error {
		for _, c := range some {
			if err := q.PutCopy(ctx, queries.PutCopyParams(c)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Copies are those of some runs. The ids are asked for in one text, which both databases
// take apart alike.
func (t *Tables) Copies(ctx context.Context, runs []paddock.RunID) ([]store.Copy, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	if len(runs) > store.MostPage {
		return nil, fmt.Errorf("%w: copies of %d runs", store.ErrInvalid, len(runs))
	}
	var ids strings.Builder
	for _, id := range runs {
		if _, err := paddock.ParseRunID(string(id)); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		ids.WriteString(string(id))
	}
	found, err := t.asks.Copies(ctx, ids.String())
	return all(found, func(c queries.Copy) store.Copy { return store.Copy(c) }), t.say(err)
}

// Latest are the newest runs of each owner, newest first.
func (t *Tables) Latest(ctx context.Context, after store.Cursor, most int) (store.Page[store.Run], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.Run]{}, err
	}
	found, err := t.asks.LatestOwners(ctx, queries.LatestOwnersParams{Created: a.created, ID: paddock.RunID(a.id), Most: a.most})
	return page(t, a, found, err, run, runAt)
}
