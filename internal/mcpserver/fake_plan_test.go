package mcpserver

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/task"
)

// plans keeps the checklists of a fake, if one is wanted.
type plans struct{ state string }

func (p plans) lists() task.Checklists { return task.Open(p.state, time.Now) }

func planned(list task.Checklist, err error) (app.Plan, error) {
	return app.Plan{Checklist: list, Counts: list.Counts(), Complete: list.Complete(), CommandsRunning: 1, CommandsFinished: 2}, err
}

func (f *fake) CreateTasks(ctx context.Context, _, of paddock.Principal, titles []string, key string) (app.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return app.Plan{}, err
	}
	return planned(f.lists().Create(ctx, of, titles, key))
}

func (f *fake) UpdateTask(ctx context.Context, _, of paddock.Principal, change task.Change) (app.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return app.Plan{}, err
	}
	return planned(f.lists().Update(ctx, of, change))
}

func (f *fake) Tasks(ctx context.Context, _, of paddock.Principal) (app.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return app.Plan{}, err
	}
	return planned(f.lists().Get(of))
}
