package tables

import (
	"context"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/tables/form"
	"paddock/internal/store/tables/queries"
)

func approval(r queries.Approval) store.Approval { return store.Approval(r) }

// Ask adds a.
func (t *Tables) Ask(ctx context.Context, a store.Approval) error {
	if err := form.Approval(a); err != nil {
		return err
	}
	return t.say(t.does.AddApproval(ctx, queries.AddApprovalParams(a)))
}

// Approval is the one with the id, with its votes, oldest first.
func (t *Tables) Approval(ctx context.Context, s store.Scope, id paddock.ApprovalID) (store.Approval, []store.Vote, error) {
	if err := readable(id); err != nil {
		return store.Approval{}, nil, err
	}
	r, err := t.asks.Approval(ctx, queries.ApprovalParams{ID: id, Owner: s.Owner, Everyone: s.All})
	if err != nil {
		return store.Approval{}, nil, t.say(err)
	}
	votes, err := t.asks.Votes(ctx, id)
	return approval(r), all(votes, func(r queries.Vote) store.Vote { return store.Vote(r) }), t.say(err)
}

// Approvals lists them.
func (t *Tables) Approvals(ctx context.Context, s store.Scope, state paddock.ApprovalState, after store.Cursor, most int) (store.Page[store.Approval], error) {
	a, err := ask(after, most)
	if err == nil {
		err = readable(state)
	}
	if err != nil {
		return store.Page[store.Approval]{}, err
	}
	rows, err := t.asks.Approvals(ctx, queries.ApprovalsParams{Owner: s.Owner, Everyone: s.All, State: state, AnyState: state == "", Created: a.created, ID: paddock.ApprovalID(a.id), Most: a.most})
	return page(t, a, rows, err, approval, func(v store.Approval) store.Cursor { return store.Cursor{Created: v.Created, ID: string(v.ID)} })
}

// AddVote adds the first vote of a key, until the approval is over.
func (t *Tables) AddVote(ctx context.Context, v store.Vote) error {
	if err := form.Vote(v); err != nil {
		return err
	}
	return t.change(ctx, func(q *queries.Queries) error {
		n, err := q.HoldApproval(ctx, queries.HoldApprovalParams{ID: v.Approval, Now: v.Created})
		if err != nil {
			return err
		}
		if n == 0 {
			return t.overOrNone(ctx, q, v.Approval)
		}
		return q.AddVote(ctx, queries.AddVoteParams(v))
	})
}

// CloseApproval writes how it came out, once.
func (t *Tables) CloseApproval(ctx context.Context, id paddock.ApprovalID, state paddock.ApprovalState, now store.Moment) error {
	return t.change(ctx, func(q *queries.Queries) error {
		n, err := q.CloseApproval(ctx, queries.CloseApprovalParams{State: state, Now: now, ID: id})
		if err == nil && n == 0 {
			return t.overOrNone(ctx, q, id)
		}
		return err
	})
}

func (t *Tables) overOrNone(ctx context.Context, q *queries.Queries, id paddock.ApprovalID) error {
	if _, err := q.Approval(ctx, queries.ApprovalParams{ID: id, Everyone: true}); err != nil {
		return err
	}
	return store.ErrOver
}
