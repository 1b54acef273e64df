package app

import (
	"context"
	"errors"
	"io/fs"

	"paddock"
	"paddock/internal/approval"
)

// Approvals returns what p may see of what rules asked about, newest first: all for
// an operator, one's own for others. When some can't be read an operator gets the
// others with the error.
func (a *App) Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error) {
	if err := errors.Join(named(p), ctx.Err()); err != nil {
		return nil, err
	}
	all, err := a.exec.Consent().List()
	mine := []paddock.Approval{}
	for _, one := range all {
		if p.Kind == paddock.Operator || one.Matter.Principal == p {
			mine = append(mine, one)
		}
	}
	if p.Kind != paddock.Operator {
		err = nil // nobody can say whose these are
	}
	return mine, err
}

// Approval returns one of them, by the keys that its policy listed.
func (a *App) Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	if err := errors.Join(named(p), ctx.Err()); err != nil {
		return paddock.Approval{}, err
	}
	one, err := a.exec.Consent().Get(id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && p.Kind != paddock.Operator && one.Matter.Principal != p {
		return paddock.Approval{}, paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
	}
	return one, err
}

// Question returns the exact text that is signed about id, for who signs elsewhere.
func (a *App) Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	if _, err := a.Approval(ctx, p, id); err != nil {
		return nil, err
	}
	return a.exec.Consent().Text(id)
}

// Vote puts down what somebody signed of an approval. Whoever may see it may bring
// that: what counts is the key that signed it, and that its policy lists it. What waits
// for it and has nobody who stays with it is started here, if it may be now.
func (a *App) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	if _, err := a.Approval(ctx, p, id); err != nil {
		return paddock.Approval{}, err
	}
	if err := a.exec.ReadOnly(); err != nil {
		return paddock.Approval{}, paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", err)
	}
	one, err := a.exec.Consent().Vote(ctx, id, envelope)
	var void *approval.Void
	if errors.As(err, &void) {
		return one, void.Refusal(id)
	}
	if err != nil {
		return one, err
	}
	a.exec.Resume(ctx)
	return a.exec.Consent().Get(id)
}
