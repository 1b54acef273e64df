package app

import (
	"context"
	"errors"
	"io/fs"

	"paddock"
	"paddock/internal/rundir/record/durable/places"
)

// PolicyText returns the exact text of the policy that allowed a run, with all that
// belonged to it, of which the run's record has the digest. It is for operators: it
// says more than who runs under it may know.
func (a *App) PolicyText(ctx context.Context, p paddock.Principal, id paddock.RunID) ([]byte, error) {
	if _, err := a.visible(ctx, p, id); err != nil {
		return nil, err
	}
	if p.Kind != paddock.Operator {
		return nil, paddock.Refused(paddock.Forbidden, "Only an operator may read the policy.")
	}
	kept, err := a.exec.Kept(ctx, id)
	if err != nil {
		return nil, err
	}
	sealed, err := kept.Sealed()
	if err != nil {
		return nil, err
	}
	text, err := places.PolicyOf(kept.Path(), sealed.Decision.PolicyDigest)
	if errors.Is(err, fs.ErrNotExist) {
		r := paddock.Refused(paddock.NotFound, "The text of the policy with the digest %s wasn't kept for this run.", sealed.Decision.PolicyDigest)
		r.Hint = "Runs of earlier versions have none, and a power cut may have taken it; the digest tells whether a text of yours is the one."
		return nil, r
	}
	return text, err
}
