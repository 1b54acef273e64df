package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/app"
)

// start is the body of a request for a run.
type start struct {
	Argv        []string              `json:"argv"`
	Workspace   string                `json:"workspace,omitempty"`
	Dir         string                `json:"dir,omitempty"`
	Env         map[string]string     `json:"env,omitempty"`
	Stdin       paddock.Stdin         `json:"stdin,omitzero"`
	Timeout     paddock.Duration      `json:"timeout_ms,omitempty"`
	Idle        paddock.Duration      `json:"idle_ms,omitempty"`
	OutputLimit int64                 `json:"output_limit,omitempty"`
	DiskLimit   int64                 `json:"disk_limit,omitempty"`
	Label       string                `json:"label,omitempty"`
	Terminal    *paddock.TerminalSize `json:"terminal,omitempty"`
	Worktree    *inWorktree           `json:"worktree,omitempty"`
	key         string
}

// inWorktree is what is to be made for a run before it.
type inWorktree struct {
	Rev string `json:"rev"`
}

func of(req paddock.Request) *start {
	c := req.Command
	return &start{
		Argv: c.Argv, Workspace: c.Workspace, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Timeout: c.Timeout, Idle: c.Idle,
		OutputLimit: c.OutputLimit, DiskLimit: c.DiskLimit, Label: c.Label, Terminal: c.Terminal, key: req.IdempotencyKey,
	}
}

// Start asks for a run. A run on a server isn't tied to who asks.
func (c *Client) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	return c.StartIn(ctx, req, "")
}

// StartIn is Start in a worktree of the workspace, made for the run at rev; none if that is
// empty.
func (c *Client) StartIn(ctx context.Context, req paddock.Request, rev string) (run paddock.Run, err error) {
	if req.Tied || req.Command.ReplaceEnv != nil {
		r := paddock.Refused(paddock.InvalidRequest, "A server's run can't be tied to a process here, or get its environment from it.")
		r.Hint = "Start it with -d, then follow it with logs -f."
		return run, r
	}
	body := of(req)
	if rev != "" {
		body.Worktree = &inWorktree{rev}
	}
	err = c.Ask(ctx, http.MethodPost, "runs", nil, body, &run)
	return run, err
}

// Explain says what would be decided.
func (c *Client) Explain(ctx context.Context, req paddock.Request) (d paddock.Decision, err error) {
	err = c.Ask(ctx, http.MethodPost, "policy/explain", nil, of(req), &d)
	return d, err
}

// Status returns the run as of now.
func (c *Client) Status(ctx context.Context, _ paddock.Principal, id paddock.RunID) (run paddock.Run, err error) {
	err = c.Ask(ctx, http.MethodGet, "runs/"+inPath(id), nil, nil, &run)
	return run, err
}

// Wait returns when the run is settled, or wait is over; zero wait waits for ever.
func (c *Client) Wait(ctx context.Context, _ paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait < 0 {
		return paddock.Run{}, refuse("The time to wait is negative.")
	}
	for left := wait; ; {
		one := paddock.MaxWait
		if wait > 0 {
			one = max(time.Millisecond, min(one, left))
		}
		var run paddock.Run
		query := words{}
		query.number("wait_ms", one.Milliseconds())
		if err := c.Ask(ctx, http.MethodGet, "runs/"+inPath(id), query, nil, &run); err != nil {
			return run, err
		}
		if left -= one; run.State.Settled() || wait > 0 && left <= 0 {
			return run, nil
		}
	}
}

// Output returns one page.
func (c *Client) Output(ctx context.Context, _ paddock.Principal, id paddock.RunID, req paddock.PageRequest) (page paddock.Page, err error) {
	if req.Unmasked {
		return page, paddock.Refused(paddock.Forbidden, "What is hidden of secrets is shown by no server.")
	}
	q := words{}
	q.text("stream", string(req.Stream))
	q.number("offset", req.Offset)
	q.number("line", req.Line)
	q.number("tail", req.Tail)
	q.number("limit", int64(req.Limit))
	q.text("grep", req.Grep)
	q.yes("grep_fixed", req.GrepFixed)
	q.yes("grep_ignore_case", req.GrepIgnoreCase)
	q.yes("grep_invert", req.GrepInvert)
	q.number("grep_before", int64(req.GrepBefore))
	q.number("grep_after", int64(req.GrepAfter))
	q.number("grep_owed", int64(req.GrepOwed))
	q.yes("grep_count", req.GrepCount)
	q.yes("raw", req.Raw)
	q.text("view", string(req.View))
	if req.Since != nil {
		q.text("since", req.Since.Format(time.RFC3339Nano))
	}
	q.number("wait_ms", time.Duration(req.Wait).Milliseconds())
	err = c.Ask(ctx, http.MethodGet, "runs/"+inPath(id)+"/output", q, nil, &page)
	return page, err
}

// Kill ends a run.
func (c *Client) Kill(ctx context.Context, _ paddock.Principal, id paddock.RunID, req app.KillRequest) (run paddock.Run, err error) {
	err = c.Ask(ctx, http.MethodPost, "runs/"+inPath(id)+"/kill", nil, req, &run)
	return run, err
}

// KillAll ends every run that the token's owner sees and that isn't settled.
func (c *Client) KillAll(ctx context.Context, p paddock.Principal, req app.KillRequest) ([]paddock.Run, error) {
	var all []paddock.Run
	var faults []error
	f := app.Filter{Active: true, Limit: 1000}
	for {
		page, err := c.List(ctx, p, f)
		if err != nil {
			return all, errors.Join(append(faults, err)...)
		}
		for _, run := range page.Runs {
			ended, err := c.Kill(ctx, p, run.ID, req)
			if err != nil {
				faults, ended = append(faults, err), run
			}
			all = append([]paddock.Run{ended}, all...) // oldest first
		}
		if f.Before = page.Next; page.Next == "" {
			return all, errors.Join(faults...)
		}
	}
}

// List returns a page of runs, newest first.
func (c *Client) List(ctx context.Context, _ paddock.Principal, f app.Filter) (l app.Listing, err error) {
	q := words{}
	q.number("limit", int64(f.Limit))
	q.text("cursor", string(f.Before))
	q.text("label", f.Label)
	q.yes("active", f.Active)
	err = c.Ask(ctx, http.MethodGet, "runs", q, nil, &l)
	return l, err
}

// Detail returns the whole record of a run.
func (c *Client) Detail(ctx context.Context, _ paddock.Principal, id paddock.RunID) (d app.Detail, err error) {
	err = c.Ask(ctx, http.MethodGet, "runs/"+inPath(id)+"/detail", nil, nil, &d)
	return d, err
}

// A text is an answer of which only that counts.
type text struct {
	Text string `json:"text"`
}

// PolicyText returns the text of the policy that allowed a run.
func (c *Client) PolicyText(ctx context.Context, _ paddock.Principal, id paddock.RunID) ([]byte, error) {
	var t text
	err := c.Ask(ctx, http.MethodGet, "runs/"+inPath(id)+"/policy", nil, nil, &t)
	return []byte(t.Text), err
}

// Approvals returns what persons were asked.
func (c *Client) Approvals(ctx context.Context, _ paddock.Principal) ([]paddock.Approval, error) {
	var all struct {
		Approvals []paddock.Approval `json:"approvals"`
	}
	err := c.Ask(ctx, http.MethodGet, "approvals", nil, nil, &all)
	return all.Approvals, err
}

// Approval returns one of them.
func (c *Client) Approval(ctx context.Context, _ paddock.Principal, id paddock.ApprovalID) (a paddock.Approval, err error) {
	err = c.Ask(ctx, http.MethodGet, "approvals/"+inPath(id), nil, nil, &a)
	return a, err
}

// Question returns the exact text that is signed.
func (c *Client) Question(ctx context.Context, _ paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	var t text
	err := c.Ask(ctx, http.MethodGet, "approvals/"+inPath(id)+"/question", nil, nil, &t)
	return []byte(t.Text), err
}

// Vote brings what somebody signed.
func (c *Client) Vote(ctx context.Context, _ paddock.Principal, id paddock.ApprovalID, envelope []byte) (a paddock.Approval, err error) {
	body := struct {
		Envelope string `json:"envelope"`
	}{string(envelope)}
	err = c.Ask(ctx, http.MethodPost, "approvals/"+inPath(id)+"/votes", nil, body, &a)
	return a, err
}
