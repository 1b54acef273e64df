package narrow

import (
	"context"
	"slices"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
)

// An Asker has the verbs about what persons are asked.
type Asker interface {
	Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
}

// Asked returns h as far as c's credential is for what is asked about: what would run in a
// workspace that it is for.
func Asked(ctx context.Context, h Asker, w Workspaces, c gate.Caller) (Asker, error) {
	if w == nil {
		return h, nil
	}
	sees, err := w.Sees(ctx, c)
	if err != nil || sees == nil {
		return h, err
	}
	return asked{h, func(a paddock.Approval) bool { return sees(paddock.Run{Workspace: a.Matter.Root}) }}, nil
}

type asked struct {
	Asker
	sees func(paddock.Approval) bool
}

func (n asked) Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error) {
	all, err := n.Asker.Approvals(ctx, p)
	return slices.DeleteFunc(slices.Clone(all), func(a paddock.Approval) bool { return !n.sees(a) }), err
}

func (n asked) Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	one, err := n.Asker.Approval(ctx, p, id)
	if err == nil && !n.sees(one) {
		return paddock.Approval{}, paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
	}
	return one, err
}

func (n asked) Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	if _, err := n.Approval(ctx, p, id); err != nil {
		return nil, err
	}
	return n.Asker.Question(ctx, p, id)
}

func (n asked) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	if _, err := n.Approval(ctx, p, id); err != nil {
		return paddock.Approval{}, err
	}
	return n.Asker.Vote(ctx, p, id, envelope)
}
