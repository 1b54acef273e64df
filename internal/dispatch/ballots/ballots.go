// Package ballots puts together what persons are asked by the house here and by those of
// other machines that can be reached, and brings votes to the house that asked.
//
// # Limits
//
// A machine that can't be reached is as one that asks nothing: what it asks is seen when it
// is back, and waits there meanwhile until it expires. Of two machines that claim the same
// approval the house here is believed first. No vote is counted here.
package ballots

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"paddock"
)

// patience is how long all of the machines may take to answer about approvals.
const patience = 10 * time.Second

// A House has the verbs.
type House interface {
	Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
}

// All are what p may see of what is asked here and there, newest first. An error is of here.
func All(ctx context.Context, p paddock.Principal, here House, there []House) ([]paddock.Approval, error) {
	all, err := here.Approvals(ctx, p)
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lists := make([][]paddock.Approval, len(there))
	var asked sync.WaitGroup
	for i, h := range there {
		asked.Go(func() {
			lists[i], _ = h.Approvals(limited, p) // who doesn't answer is away
		})
	}
	asked.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, list := range lists {
		for _, one := range list {
			if !slices.ContainsFunc(all, func(a paddock.Approval) bool { return a.ID == one.ID }) {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b paddock.Approval) int {
		return cmp.Or(b.AskedAt.Compare(a.AskedAt), cmp.Compare(b.ID, a.ID))
	})
	return all, err
}

// Of is the house that asks id, and what it asks.
func Of(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, here House, there []House) (House, paddock.Approval, error) {
	one, err := here.Approval(ctx, p, id)
	var r *paddock.Refusal
	if len(there) == 0 || !errors.As(err, &r) || r.Code != paddock.NotFound {
		return here, one, err
	}
	type answer struct {
		house House
		one   paddock.Approval
		err   error
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make(chan answer, len(there))
	for _, h := range there {
		go func() {
			one, err := h.Approval(limited, p, id)
			answers <- answer{h, one, err}
		}()
	}
	for range there {
		if a := <-answers; a.err == nil {
			return a.house, a.one, nil
		}
	}
	return here, paddock.Approval{}, cmp.Or(ctx.Err(), err)
}
