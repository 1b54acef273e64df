// Package plans has the verbs for checklists and for tasks that are given to agents.
// [paddock/internal/app.App] has them among its own.
//
// # Limits
//
// Whether a principal is anybody, and what it may read of a refusal, is said by
// package app, which hands that in.
package plans

import (
	"context"
	"sync"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// A House says what holds for every verb.
type House struct {
	// Named refuses nobody in particular.
	Named func(paddock.Principal) error
	// Discreet takes out of a refusal what isn't p's to know.
	Discreet func(p paddock.Principal, r *paddock.Refusal) *paddock.Refusal
	// Decision does so with all of a decision.
	Decision func(p paddock.Principal, d paddock.Decision) paddock.Decision
}

// Plans are the verbs over one state directory.
type Plans struct {
	exec  *executor.Executor
	house House

	serve    delegate.Serve
	roomOnce sync.Once
	room     *delegate.Room // nil until somebody asks
}

// New returns the verbs, which act through e.
func New(e *executor.Executor, house House) *Plans { return &Plans{exec: e, house: house} }

// ServeTools has delegates that have tools started here, and what they ask answered by
// serve. It is called before anything is asked of a.
func (a *Plans) ServeTools(serve delegate.Serve) { a.serve = serve }

// End ends what this process does for delegates.
func (a *Plans) End() {
	a.roomOnce.Do(func() {})
	if a.room != nil {
		a.room.Close()
	}
}

// Verbs are those for agents.
type Verbs interface {
	CreateTasks(ctx context.Context, p, of paddock.Principal, titles []string, key string) (Plan, error)
	UpdateTask(ctx context.Context, p, of paddock.Principal, change task.Change) (Plan, error)
	Tasks(ctx context.Context, p, of paddock.Principal) (Plan, error)
	Delegate(ctx context.Context, ask delegate.Ask) (delegate.Delegate, error)
	CollectDelegates(ctx context.Context, c delegate.Collect) (delegate.Collected, error)
	CancelDelegate(ctx context.Context, p paddock.Principal, id, why string) (delegate.Delegate, error)
}

// All are those for people, too.
type All interface {
	Verbs
	Checklists(ctx context.Context, p paddock.Principal) ([]Plan, error)
	ClearTasks(ctx context.Context, p, of paddock.Principal) (Plan, error)
	ExplainDelegate(ctx context.Context, ask delegate.Ask) (paddock.Decision, error)
	Delegates(ctx context.Context, p paddock.Principal) ([]delegate.Delegate, error)
	PruneTasks(ctx context.Context, p paddock.Principal, s Stale, dry bool) ([]task.Checklist, error)
	PruneDelegates(ctx context.Context, p paddock.Principal, s Stale, dry bool) ([]delegate.Delegate, error)
	Inside(ctx context.Context, p paddock.Principal) (string, error)
	ServeTools(serve delegate.Serve)
}
