package mcpserver

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/app/plans"
	"paddock/internal/task"
)

// planned keeps the checklists of a fake, if one is wanted.
type planned struct {
	plans.Verbs
	state string
}

func (p planned) lists() task.Checklists { return task.Open(p.state, time.Now) }

func answered(list task.Checklist, err error) (plans.Plan, error) {
	return plans.Plan{Checklist: list, Counts: list.Counts(), Complete: list.Complete(), CommandsRunning: 1, CommandsFinished: 2}, err
}

func (f *fake) CreateTasks(ctx context.Context, _, of paddock.Principal, titles []string, key string) (plans.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return plans.Plan{}, err
	}
	return answered(f.lists().Create(ctx, of, titles, key))
}

func (f *fake) UpdateTask(ctx context.Context, _, of paddock.Principal, change task.Change) (plans.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return plans.Plan{}, err
	}
	return answered(f.lists().Update(ctx, of, change))
}

func (f *fake) Tasks(ctx context.Context, _, of paddock.Principal) (plans.Plan, error) {
	if err := f.first(ctx, "tasks"); err != nil {
		return plans.Plan{}, err
	}
	return answered(f.lists().Get(of))
}
