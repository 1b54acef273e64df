package notes

import (
	"context"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/short/removed"
)

// Forgotten tells that by is about to have things go that agents had planned or reported.
func (n *Notes) Forgotten(ctx context.Context, by paddock.Principal, p removed.Plans) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return n.w.Append(ctx, journal.Entry{Kind: journal.Forgotten, Principal: &by, Forgotten: &p})
}
