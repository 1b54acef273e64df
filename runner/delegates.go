package runner

import (
	"context"

	"paddock"
	"paddock/internal/task/delegate"
)

type (
	// A Delegate is a task that was given to an agent of the policy's.
	Delegate = delegate.Delegate
	// A DelegateResult is what came of it.
	DelegateResult = delegate.Result
	// A Collect says which results are wanted; its Principal is ignored.
	Collect = delegate.Collect
	// Collected are results.
	Collected = delegate.Collected
)

// A DelegateTask is what a delegate is to do, and by whom.
type DelegateTask struct {
	// Provider is one of the policy's; it may be left out where there is one.
	Provider string
	Task     string
	Label    string
	// Dir is where it works; empty is the first root. Timeout can only lower.
	Dir     string
	Timeout paddock.Duration
	// Key, if it isn't empty, makes asking again return the delegate of the first time.
	Key string
}

// Delegate gives a task to an agent that the policy lists, and returns at once. It
// goes on when this program ends, unless the Runner's OnClose says otherwise.
func (r *Runner) Delegate(ctx context.Context, t DelegateTask) (Delegate, error) {
	return r.app.Delegate(ctx, delegate.Ask{
		Principal: r.principal, Door: paddock.DoorGo, Tied: r.onClose == KillRuns,
		Provider: t.Provider, Task: t.Task, Label: t.Label, Dir: t.Dir, Timeout: t.Timeout, Key: t.Key,
	})
}

// CollectDelegates acknowledges results and returns those that wait. What isn't
// acknowledged comes again with the next call.
func (r *Runner) CollectDelegates(ctx context.Context, c Collect) (Collected, error) {
	c.Principal = r.principal
	return r.app.CollectDelegates(ctx, c)
}

// CancelDelegate ends a delegate. One that has a result comes back unchanged.
func (r *Runner) CancelDelegate(ctx context.Context, id, why string) (Delegate, error) {
	return r.app.CancelDelegate(ctx, r.principal, id, why)
}

// Delegates returns those whose results aren't acknowledged, oldest first.
func (r *Runner) Delegates(ctx context.Context) ([]Delegate, error) {
	return r.app.Delegates(ctx, r.principal)
}
