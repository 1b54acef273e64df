package desk

import (
	"context"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/task"
)

// Planner is what the commands ask about checklists.
type Planner interface {
	Checklists(ctx context.Context, p paddock.Principal) ([]app.Plan, error)
	Tasks(ctx context.Context, p, of paddock.Principal) (app.Plan, error)
	CreateTasks(ctx context.Context, p, of paddock.Principal, titles []string, key string) (app.Plan, error)
	UpdateTask(ctx context.Context, p, of paddock.Principal, change task.Change) (app.Plan, error)
	ClearTasks(ctx context.Context, p, of paddock.Principal) (app.Plan, error)
}
