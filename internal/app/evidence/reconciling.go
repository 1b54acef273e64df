package evidence

import (
	"context"
	"errors"

	"paddock/internal/journal"
	"paddock/internal/journal/short/account"
	"paddock/internal/journal/writer"
)

// Reconciling writes down what is about to be changed of what a server's store says of a
// run.
func (e *Evidence) Reconciling(ctx context.Context, what string) error {
	if err := e.writable(); err != nil {
		return err
	}
	w, err := writer.Open(e.dir, writer.Options{Now: e.now})
	if err != nil {
		return err
	}
	return errors.Join(w.Append(ctx, journal.Entry{Kind: journal.Account, Account: &account.Detail{What: "run-reconciled", Local: true, More: what}}), w.Close())
}
