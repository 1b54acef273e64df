package dispatch

import (
	"context"

	"paddock"
	"paddock/internal/dispatch/ballots"
	"paddock/internal/dispatch/stating"
	"paddock/internal/journal/sign"
)

// there are the houses of all workers that can be reached now.
func (f *Front) there() (all []ballots.House) {
	if f.cfg.Elsewhere == nil {
		return nil
	}
	for _, worker := range f.cfg.Elsewhere.Workers() {
		if h := f.cfg.Elsewhere.At(worker); h != nil && worker != f.cfg.Worker {
			all = append(all, h)
		}
	}
	return all
}

// Approvals are what persons are asked by this machine and by workers that can be reached.
func (f *Front) Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error) {
	return ballots.All(ctx, p, f.App, f.there())
}

// Approval is one of them.
func (f *Front) Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	_, one, err := ballots.Of(ctx, p, id, f.App, f.there())
	return one, err
}

// Question is the text that is signed about one.
func (f *Front) Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	house, _, err := ballots.Of(ctx, p, id, f.App, f.there())
	if err != nil {
		return nil, err
	}
	return house.Question(ctx, p, id)
}

// Vote brings what somebody signed to the machine that asks. What counts is the key that
// signed it, by the policy there.
func (f *Front) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	return ballots.Vote(ctx, p, id, envelope, f.App, f.there())
}

// Attest has the machine that carried out a run, which isn't this one, make a signed
// statement about it.
func (f *Front) Attest(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
	at, err := f.find(ctx, p, id)
	if err != nil {
		return sign.Envelope{}, err
	}
	return stating.By(ctx, p, id, at.row, f.cfg.Worker, at.house)
}
