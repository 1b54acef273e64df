package httpapi

import (
	"context"
	"net/http"

	"paddock"
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

// rules adds the routes that are about policies.
func (d *Door) rules() {
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
