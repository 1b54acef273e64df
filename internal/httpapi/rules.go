package httpapi

import (
	"context"
	"net/http"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/table"
)

// A Policy is the one that applies.
type Policy struct {
	Digest paddock.Digest `json:"digest"`
	File   string         `json:"file"`
	Roots  []string       `json:"roots"`
	// Words are those that a command may begin with.
	Words []string `json:"words"`
	Text  string   `json:"text"`
	// Problem says why the file as it is now doesn't count: this one before it does.
	Problem *paddock.Refusal `json:"problem,omitempty"`
}

// A Reloaded says what became of reading the policy again.
type Reloaded struct {
	// Digest is of the policy that applies.
	Digest paddock.Digest `json:"digest"`
	File   string         `json:"file"`
	// Problem says why the file as it is now doesn't count: the one before it does.
	Problem *paddock.Refusal `json:"problem,omitempty"`
}

// PolicyOf is the text by which a run was judged.
type PolicyOf struct {
	Run  paddock.RunID `json:"run"`
	Text string        `json:"text"`
}

// Approvals is a list of what persons were asked.
type Approvals struct {
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
		return "", paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
	}
	return id, nil
}

// rules adds the routes that are about policies and approvals.
func (d *Door) rules() {
	d.policies()
	route := func(method, path, id, summary string, verb gate.Verb) entry.Row {
		return entry.Row{Route: table.Route{Method: method, Path: "/api/v1/approvals" + path, ID: id, Summary: summary, Tag: "approvals"}, Verb: verb}
	}
	entry.Add(d.in, route(http.MethodGet, "", "listApprovals", "What persons were asked, newest first", gate.ApprovalsList), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Approvals, error) {
		all, err := d.cfg.App.Approvals(ctx, c.As())
		return Approvals{all}, err
	})
	entry.Add(d.in, route(http.MethodGet, "/{id}", "getApproval", "One of them", gate.ApprovalsRead), func(ctx context.Context, c *entry.Call, in *oneApproval) (paddock.Approval, error) {
		id, err := in.approval()
		if err != nil {
			return paddock.Approval{}, err
		}
		return d.cfg.App.Approval(ctx, c.As(), id)
	})
	entry.Add(d.in, route(http.MethodGet, "/{id}/question", "getQuestion", "The text that is signed", gate.ApprovalsRead), func(ctx context.Context, c *entry.Call, in *oneApproval) (Question, error) {
		id, err := in.approval()
		if err != nil {
			return Question{}, err
		}
		text, err := d.cfg.App.Question(ctx, c.As(), id)
		return Question{id, string(text)}, err
	})
	entry.Add(d.in, route(http.MethodPost, "/{id}/votes", "vote", "Bring a signed vote; what counts is the key", gate.ApprovalsVote), func(ctx context.Context, c *entry.Call, in *struct {
		oneApproval
		Body Signed `body:""`
	}) (paddock.Approval, error) {
		id, err := in.approval()
		if err != nil {
			return paddock.Approval{}, err
		}
		return d.vote(ctx, c, id, []byte(in.Body.Envelope))
	})
}

// vote brings a vote; with our word that a second factor was shown where one is wanted.
func (d *Door) vote(ctx context.Context, c *entry.Call, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	asked, err := d.cfg.App.Approval(ctx, c.As(), id)
	if err == nil && asked.Matter.SecondFactor && d.cfg.Vouch != nil {
		envelope, err = d.cfg.Vouch(c.Caller.Who, envelope)
	}
	if err != nil {
		return paddock.Approval{}, err
	}
	return d.cfg.App.Vote(ctx, c.As(), id, envelope)
}

func (d *Door) policies() {
	now := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/policy", ID: "getPolicy", Summary: "The policy that applies now", Tag: "policy"}, Verb: gate.PolicyRead}
	entry.Add(d.in, now, func(context.Context, *entry.Call, *entry.Nothing) (Policy, error) {
		if d.cfg.Policy == nil {
			return Policy{}, paddock.Refused(paddock.NoPolicy, "No policy applies here.")
		}
		return d.cfg.Policy()
	})
	again := entry.NewRow(http.MethodPost, "policy/reload", "reloadPolicy", "Read the policy again, and learn whether it counts; what is changed counts without it, too", "policy", gate.PolicyReload)
	entry.Add(d.in, again, func(context.Context, *entry.Call, *entry.Nothing) (Reloaded, error) {
		if d.cfg.Policy == nil {
			return Reloaded{}, paddock.Refused(paddock.NoPolicy, "No policy applies here.")
		}
		p, err := d.cfg.Policy()
		return Reloaded{p.Digest, p.File, p.Problem}, err
	})
	explain := entry.Row{Route: table.Route{Method: http.MethodPost, Path: "/api/v1/policy/explain", ID: "explain", Summary: "What would be decided about a command, and why", Tag: "policy"}, Verb: gate.PolicyExplain}
	entry.Add(d.in, explain, func(ctx context.Context, c *entry.Call, in *struct {
		Body NewRun `body:""`
	}) (paddock.Decision, error) {
		req, err := d.request(ctx, in.Body, c.Caller)
		if err != nil {
			return paddock.Decision{}, err
		}
		return d.cfg.App.Explain(ctx, req)
	})
	then := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/runs/{id}/policy", ID: "getRunPolicy", Summary: "The policy by which a run was judged", Tag: "policy"}, Verb: gate.PolicyRead}
	entry.Add(d.in, then, func(ctx context.Context, c *entry.Call, in *oneRun) (PolicyOf, error) {
		id, err := in.run(ctx)
		if err != nil {
			return PolicyOf{}, err
		}
		text, err := d.cfg.App.PolicyText(ctx, c.As(), id)
		return PolicyOf{id, string(text)}, err
	})
}
