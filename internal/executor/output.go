package executor

import (
	"context"
	"io"

	"paddock"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/executor/pages"
	"paddock/internal/executor/watch"
	"paddock/internal/journal/short/removed"
)

// Output returns one page of a run's output. With req.Wait it waits that long
// for something to be there, for a line that matches when req filters, or for
// the end. A page can be repeated without loss.
func (e *Executor) Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	dir, err := e.state.Run(id)
	if err != nil {
		return paddock.Page{}, err
	}
	return pages.Read(ctx, dir, req, func(ctx context.Context, turns func() (bool, error)) error {
		return e.hub.Await(ctx, dir, func(*watch.Run) (bool, error) { return turns() })
	})
}

// Unmasked writes down that by is about to be shown page without masks.
func (e *Executor) Unmasked(ctx context.Context, by paddock.Principal, id paddock.RunID, page paddock.Page) error {
	if err := e.unwritable(); err != nil {
		return err
	}
	if page.NextOffset == page.Offset { // there was nothing
		return nil
	}
	return budget.RecordError(ctx, e.notes.Unmasked(ctx, by, id, page.Stream, page.Offset, page.NextOffset))
}

// Forgotten writes down what by is about to have go of what agents planned or reported.
func (e *Executor) Forgotten(ctx context.Context, by paddock.Principal, p removed.Plans) error {
	return budget.RecordError(ctx, e.notes.Forgotten(ctx, by, p))
}

// Follow writes a stream from offset to w, as it comes, until the run is settled
// and everything is written.
func (e *Executor) Follow(ctx context.Context, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error {
	dir, err := e.state.Run(id)
	if err != nil {
		return err
	}
	follower := pages.Follow(dir, s, offset)
	return e.hub.Await(ctx, dir, func(*watch.Run) (bool, error) { return follower.Copy(w) })
}
