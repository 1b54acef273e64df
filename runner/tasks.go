package runner

import (
	"context"

	"paddock/internal/app/plans"
	"paddock/internal/task"
)

type (
	// A Plan is the checklist of a principal, with counts and with what goes on
	// beside it. Complete says that every item is done or closed.
	Plan = plans.Plan
	// A TaskItem is one item of a checklist.
	TaskItem = task.Item
	// A TaskChange is what becomes of one item.
	TaskChange = task.Change
	// A TaskStatus says how far an item is.
	TaskStatus = task.Status
)

// The statuses of items.
const (
	TaskPending    = task.Pending
	TaskInProgress = task.InProgress
	TaskDone       = task.Done
	TaskClosed     = task.Closed
)

// CreateTasks appends an item for each title to this Runner's checklist, which is
// kept in the state directory. Asking again with the same key, if it isn't empty,
// adds nothing.
func (r *Runner) CreateTasks(ctx context.Context, key string, titles ...string) (Plan, error) {
	return r.app.CreateTasks(ctx, r.principal, r.principal, titles, key)
}

// UpdateTask changes one item.
func (r *Runner) UpdateTask(ctx context.Context, change TaskChange) (Plan, error) {
	return r.app.UpdateTask(ctx, r.principal, r.principal, change)
}

// Tasks returns the checklist; it is empty if there is none.
func (r *Runner) Tasks(ctx context.Context) (Plan, error) {
	return r.app.Tasks(ctx, r.principal, r.principal)
}

// ClearTasks forgets all items of the checklist.
func (r *Runner) ClearTasks(ctx context.Context) (Plan, error) {
	return r.app.ClearTasks(ctx, r.principal, r.principal)
}
