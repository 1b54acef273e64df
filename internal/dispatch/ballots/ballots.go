// Package ballots puts together what persons are asked by the house here and by those of
// other machines that can be reached, and brings votes to the house that asked.
//
// # Limits
//
// A machine that can't be reached is as one that asks nothing: what it asks is seen when it
// is back, and waits there meanwhile until it expires. A machine can claim any id, and have
// what it says of that shown in place of another's; who signs reads what he signs. No vote
// is counted here.
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
			if !slices.ContainsFunc(all, func(a paddock.Approval) bool { return a.ID == one.ID && a.Digest == one.Digest }) {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b paddock.Approval) int {
		return cmp.Or(b.AskedAt.Compare(a.AskedAt), cmp.Compare(b.ID, a.ID))
	})
	return all, err
}

// A claim is what a machine says that it asks by an id.
type claim struct {
	house House
	one   paddock.Approval
	here  bool
}

// claims are those of an id, what waits first, then what is asked here, then the oldest.
// There is at least one, or an error. Two machines that ask the same person the same give
// it one id, and each counts only votes on its own.
func claims(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, here House, there []House) ([]claim, error) {
	one, err := here.Approval(ctx, p, id)
	var r *paddock.Refusal
	if err != nil && (!errors.As(err, &r) || r.Code != paddock.NotFound) {
		return nil, err
	}
	var all []claim
	if err == nil {
		all = append(all, claim{here, one, true})
	}
	if len(there) > 0 && (err != nil || one.State != paddock.ApprovalWaiting) {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		theirs := make([]*claim, len(there))
		var asked sync.WaitGroup
		for i, h := range there {
			asked.Go(func() {
				if one, err := h.Approval(limited, p, id); err == nil {
					theirs[i] = &claim{h, one, false}
				}
			})
		}
		asked.Wait()
		for _, c := range theirs {
			if c != nil {
				all = append(all, *c)
			}
		}
	}
	if len(all) == 0 {
		return nil, cmp.Or(ctx.Err(), err)
	}
	rank := func(c claim) int {
		switch {
		case c.one.State == paddock.ApprovalWaiting:
			return 0
		case c.here:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b claim) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.one.AskedAt.Compare(b.one.AskedAt), cmp.Compare(a.one.Worker, b.one.Worker))
	})
	return all, nil
}

// Of is the house that asks id, and what it asks.
func Of(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, here House, there []House) (House, paddock.Approval, error) {
	all, err := claims(ctx, p, id, here, there)
	if err != nil {
		return here, paddock.Approval{}, err
	}
	return all[0].house, all[0].one, nil
}

// Vote brings a vote to all that ask by the id: what it is about stands in it, and who lies
// about an id keeps it from nobody.
func Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte, here House, there []House) (one paddock.Approval, err error) {
	all, err := claims(ctx, p, id, here, there)
	if err != nil {
		return paddock.Approval{}, err
	}
	counted := false
	for i, c := range all {
		is, bad := c.house.Vote(ctx, p, id, envelope)
		if i == 0 || bad == nil && !counted {
			one, err = is, bad
		}
		counted = counted || bad == nil
	}
	return one, err
}
