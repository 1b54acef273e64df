// Package ballot has what a server asks a machine about approvals: what persons are asked
// there, and their votes, which it carries.
//
// # Limits
//
// It believes nobody. The machine counts votes by the keys that its own policy lists, so a
// server, or who sits between, can lose a vote and can make none. What a machine says that
// it asks is what it says: who signs reads the text that is signed.
package ballot

import (
	"context"
	"fmt"

	"paddock"
)

// A House has the verbs. *app.App does.
type House interface {
	Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
}

// The verbs.
const (
	list = "approvals"
	get  = "approval"
	text = "approval-text"
	vote = "vote"
)

// Is reports whether a verb is one of ours.
func Is(verb string) bool { return verb == list || verb == get || verb == text || verb == vote }

// A Question is what a verb needs: which approval, and the vote.
type Question struct {
	ID   paddock.ApprovalID `json:"id,omitempty"`
	Vote string             `json:"vote,omitempty"`
}

// A Text is what is signed.
type Text struct {
	Text string `json:"text"`
}

// Answer asks the house, about what users of servers asked for, and about nothing else.
func Answer(ctx context.Context, h House, p paddock.Principal, verb string, q *Question) (any, error) {
	if verb == list {
		all, err := h.Approvals(ctx, p)
		theirs := []paddock.Approval{}
		for _, one := range all {
			if ours(one) {
				theirs = append(theirs, one)
			}
		}
		if len(theirs) > 0 {
			err = nil // of what can't be read nobody can say whose it is
		}
		return theirs, err
	}
	if q == nil {
		q = &Question{}
	}
	one, err := h.Approval(ctx, p, q.ID)
	if err == nil && !ours(one) {
		err = Nothing()
	}
	if err != nil {
		return nil, err
	}
	switch verb {
	case text:
		is, err := h.Question(ctx, p, q.ID)
		return Text{string(is)}, err
	case vote:
		return h.Vote(ctx, p, q.ID, []byte(q.Vote))
	}
	return one, nil
}

func ours(one paddock.Approval) bool { return one.Matter.Principal.Root().Kind == paddock.User }

// Nothing is the answer about what isn't there, and about what isn't the asker's.
func Nothing() error {
	return paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
}

// A Remote is a house on another machine, which Ask asks.
type Remote struct {
	Worker string
	Ask    func(ctx context.Context, p paddock.Principal, verb string, q *Question, into any) error
}

// Approvals are what is asked there.
func (r Remote) Approvals(ctx context.Context, p paddock.Principal) (all []paddock.Approval, err error) {
	if err := r.Ask(ctx, p, list, nil, &all); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Worker = r.Worker
	}
	return all, nil
}

// Approval is one of them.
func (r Remote) Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	return r.one(ctx, p, get, Question{ID: id})
}

// Question is the text that is signed.
func (r Remote) Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	var t Text
	err := r.Ask(ctx, p, text, &Question{ID: id}, &t)
	return []byte(t.Text), err
}

// Vote brings one there.
func (r Remote) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	return r.one(ctx, p, vote, Question{ID: id, Vote: string(envelope)})
}

func (r Remote) one(ctx context.Context, p paddock.Principal, verb string, q Question) (one paddock.Approval, err error) {
	if err := r.Ask(ctx, p, verb, &q, &one); err != nil {
		return paddock.Approval{}, err
	}
	if one.ID != q.ID {
		return paddock.Approval{}, fmt.Errorf("worker %s was asked for approval %s and answers with another", r.Worker, q.ID)
	}
	one.Worker = r.Worker
	return one, nil
}
