// Package approvals has the routes by which persons see what they are asked, and bring
// their votes.
//
// # Limits
//
// It signs nothing but that a second factor was shown, and counts no votes: what counts is
// the key of a vote, for who decides.
package approvals

import (
	"context"
	"net/http"
	"slices"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

// A House is what is asked about approvals. *app.App has its verbs.
type House interface {
	Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
}

// Vouch adds our word that a second factor was shown to a vote that somebody brings, where
// it was; nil never does.
type Vouch = func(who auth.Who, vote []byte) ([]byte, error)

// Sees says of the root that something is to run in whether the caller's credential is for
// it; nil where it is for all.
type Sees = func(context.Context, gate.Caller) (func(root string) bool, error)

// seen is one that the caller may see.
func seen(ctx context.Context, c *entry.Call, h House, sees Sees, id paddock.ApprovalID) (paddock.Approval, error) {
	there, err := sees(ctx, c.Caller)
	if err != nil {
		return paddock.Approval{}, err
	}
	a, err := h.Approval(ctx, c.As(), id)
	if err == nil && there != nil && !there(a.Matter.Root) {
		return paddock.Approval{}, missing()
	}
	return a, err
}

func missing() error {
	return paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
}

// Listing is a list of what persons were asked.
type Listing struct {
	Approvals []paddock.Approval `json:"approvals"`
}

// A Question is the exact text that is signed.
type Question struct {
	ID   paddock.ApprovalID `json:"id"`
	Text string             `json:"text"`
}

// A Signed is a vote that somebody signed elsewhere, as paddock approve sign prints it.
type Signed struct {
	Envelope string `json:"envelope"`
}

type oneApproval struct {
	ID string `path:"id"`
}

func (o oneApproval) approval() (paddock.ApprovalID, error) {
	id, err := approval.ParseID(o.ID)
	if err != nil {
		return "", missing()
	}
	return id, nil
}

// Routes adds the routes.
func Routes(in *entry.Entrance, h House, sees Sees, vouch Vouch) {
	route := func(method, path, id, summary string, verb gate.Verb) entry.Row {
		return entry.NewRow(method, "approvals"+path, id, summary, "approvals", verb)
	}
	entry.Add(in, route(http.MethodGet, "", "listApprovals", "What persons were asked, newest first", gate.ApprovalsList), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Listing, error) {
		there, err := sees(ctx, c.Caller)
		if err != nil {
			return Listing{}, err
		}
		all, err := h.Approvals(ctx, c.As())
		if there != nil {
			all = slices.DeleteFunc(all, func(a paddock.Approval) bool { return !there(a.Matter.Root) })
		}
		return Listing{all}, err
	})
	entry.Add(in, route(http.MethodGet, "/{id}", "getApproval", "One of them", gate.ApprovalsRead), func(ctx context.Context, c *entry.Call, one *oneApproval) (paddock.Approval, error) {
		id, err := one.approval()
		if err != nil {
			return paddock.Approval{}, err
		}
		return seen(ctx, c, h, sees, id)
	})
	entry.Add(in, route(http.MethodGet, "/{id}/question", "getQuestion", "The text that is signed", gate.ApprovalsRead), func(ctx context.Context, c *entry.Call, one *oneApproval) (Question, error) {
		id, err := one.approval()
		if err != nil {
			return Question{}, err
		}
		if _, err := seen(ctx, c, h, sees, id); err != nil {
			return Question{}, err
		}
		text, err := h.Question(ctx, c.As(), id)
		return Question{id, string(text)}, err
	})
	entry.Add(in, route(http.MethodPost, "/{id}/votes", "vote", "Bring a signed vote; what counts is the key", gate.ApprovalsVote), func(ctx context.Context, c *entry.Call, one *struct {
		oneApproval
		Body Signed `body:""`
	}) (paddock.Approval, error) {
		id, err := one.approval()
		if err != nil {
			return paddock.Approval{}, err
		}
		return vote(ctx, c, h, vouch, id, []byte(one.Body.Envelope))
	})
}

// vote brings a vote; with our word that a second factor was shown where one is wanted.
func vote(ctx context.Context, c *entry.Call, h House, vouch Vouch, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	asked, err := h.Approval(ctx, c.As(), id)
	if err == nil && asked.Matter.Principal.Answers(c.Caller.Self().ID) && !auth.May(c.Caller.Role, c.Verb, auth.Mine) {
		r := paddock.Refused(paddock.Forbidden, "You asked for this yourself, so somebody else decides.") // whatever the key says of its holder
		r.Hint = "If it isn't wanted any more, kill the run."
		return paddock.Approval{}, r
	}
	if err == nil && asked.Matter.SecondFactor && vouch != nil {
		envelope, err = vouch(c.Caller.Who, envelope)
	}
	if err != nil {
		return paddock.Approval{}, err
	}
	return h.Vote(ctx, c.As(), id, envelope)
}
