package remote

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/plans"
	"paddock/internal/auth"
	"paddock/internal/git"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/mcpserver"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// placed says where a caller starts what he starts.
type placed struct {
	spaces narrow.Workspaces
	who    gate.Caller
}

// path is the directory of a workspace. Whose token is for one alone need not name it.
func (p placed) path(ctx context.Context, name string) (string, error) {
	if only := p.who.Who.Workspaces; name == "" && p.who.Who.Narrow() && len(only) == 1 {
		name = only[0]
	}
	return narrow.Path(ctx, p.spaces, p.who, name, nil)
}

// sees says of runs whether they are where the caller's token is for.
func (p placed) sees(ctx context.Context) (func(paddock.Run) bool, error) {
	return narrow.Sees(ctx, p.spaces, p.who)
}

// within are the verbs for a token that is for some workspaces alone. Nothing is embedded
// here: a verb of tomorrow doesn't compile until somebody writes how it is held to them.
type within struct {
	all narrowed
	at  placed
}

var _ mcpserver.Verbs = within{}

// seen is the house as far as the token is for it, now: workspaces come and go meanwhile.
func (w within) seen(ctx context.Context) (narrow.House, error) {
	sees, err := w.at.sees(ctx)
	return narrow.To(w.all, sees), err
}

// Start wants a workspace of the token, and no run of elsewhere as standard input.
func (w within) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	sees, err := w.at.sees(ctx)
	if err != nil {
		return paddock.Run{}, err
	}
	if !sees(paddock.Run{Workspace: req.Command.Workspace}) {
		return paddock.Run{}, paddock.Refused(paddock.Forbidden, "This token starts nothing outside of its workspaces.")
	}
	if from := req.Command.Stdin.Run; from != "" {
		if _, err := narrow.To(w.all, sees).Look(ctx, req.Principal, from); err != nil {
			return paddock.Run{}, err
		}
	}
	return w.all.Start(ctx, req)
}

// Status implements [mcpserver.Verbs].
func (w within) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	h, err := w.seen(ctx)
	if err != nil {
		return paddock.Run{}, err
	}
	return h.Status(ctx, p, id)
}

// Wait implements [mcpserver.Verbs].
func (w within) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	h, err := w.seen(ctx)
	if err != nil {
		return paddock.Run{}, err
	}
	return h.Wait(ctx, p, id, wait)
}

// Output implements [mcpserver.Verbs].
func (w within) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	h, err := w.seen(ctx)
	if err != nil {
		return paddock.Page{}, err
	}
	return h.Output(ctx, p, id, req)
}

// Kill implements [mcpserver.Verbs].
func (w within) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	h, err := w.seen(ctx)
	if err != nil {
		return paddock.Run{}, err
	}
	return h.Kill(ctx, p, id, req)
}

// List implements [mcpserver.Verbs].
func (w within) List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error) {
	h, err := w.seen(ctx)
	if err != nil {
		return app.Listing{}, err
	}
	return h.List(ctx, p, f)
}

// Approval shows what is asked about a run in a workspace of the token.
func (w within) Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	sees, err := w.at.sees(ctx)
	if err != nil {
		return paddock.Approval{}, err
	}
	a, err := w.all.Approval(ctx, p, id)
	if err == nil && !sees(paddock.Run{Workspace: a.Matter.Root}) {
		return paddock.Approval{}, paddock.Refused(paddock.NotFound, "There is no such approval among those that you may see.")
	}
	return a, err
}

// Counters aren't told: they are of all runs of the account. Answers leave them out.
func (w within) Counters(context.Context, paddock.Principal) (app.Counters, error) {
	return app.Counters{}, closed(auth.RunsList)
}

// closed refuses a verb that isn't held to workspaces.
func closed(v auth.Verb) error {
	r := paddock.Refused(paddock.Forbidden, "This token is for some workspaces alone, and %s isn't held to them here.", v)
	r.Hint = "Take a token for all workspaces."
	return r
}

// Vote, and what follows, is closed.
func (w within) Vote(context.Context, paddock.Principal, paddock.ApprovalID, []byte) (paddock.Approval, error) {
	return paddock.Approval{}, closed(auth.ApprovalsVote)
}

// Shutdown implements [mcpserver.Verbs].
func (w within) Shutdown(context.Context, paddock.Principal, []paddock.RunID) error {
	return closed(auth.RunsKill)
}

// Git implements [mcpserver.Verbs].
func (w within) Git(context.Context, git.Ask) (git.Answer, error) {
	return git.Answer{}, closed(auth.GitRead)
}

// CreateTasks implements [plans.Verbs].
func (w within) CreateTasks(context.Context, paddock.Principal, paddock.Principal, []string, string) (plans.Plan, error) {
	return plans.Plan{}, closed(auth.TasksWrite)
}

// UpdateTask implements [plans.Verbs].
func (w within) UpdateTask(context.Context, paddock.Principal, paddock.Principal, task.Change) (plans.Plan, error) {
	return plans.Plan{}, closed(auth.TasksWrite)
}

// Tasks implements [plans.Verbs].
func (w within) Tasks(context.Context, paddock.Principal, paddock.Principal) (plans.Plan, error) {
	return plans.Plan{}, closed(auth.TasksRead)
}

// Delegate implements [plans.Verbs].
func (w within) Delegate(context.Context, delegate.Ask) (delegate.Delegate, error) {
	return delegate.Delegate{}, closed(auth.DelegatesStart)
}

// CollectDelegates implements [plans.Verbs].
func (w within) CollectDelegates(context.Context, delegate.Collect) (delegate.Collected, error) {
	return delegate.Collected{}, closed(auth.DelegatesRead)
}

// CancelDelegate implements [plans.Verbs].
func (w within) CancelDelegate(context.Context, paddock.Principal, string, string) (delegate.Delegate, error) {
	return delegate.Delegate{}, closed(auth.DelegatesCancel)
}
