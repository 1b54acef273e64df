package plans

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/task"
)

// A Plan is a checklist, with what goes on beside it.
type Plan struct {
	task.Checklist
	Counts   map[task.Status]int `json:"counts"`
	Complete bool                `json:"complete"` // every item is done or closed
	// CommandsRunning and CommandsFinished are the counters of the same principal.
	CommandsRunning  int `json:"commands_running"`
	CommandsFinished int `json:"commands_finished"`
	// DelegatesPending have no result yet, DelegatesReady one that isn't acknowledged.
	DelegatesPending int `json:"delegates_pending"`
	DelegatesReady   int `json:"delegates_ready"`
}

// CreateTasks appends items to of's checklist; key makes asking again harmless.
func (a *Plans) CreateTasks(ctx context.Context, p, of paddock.Principal, titles []string, key string) (Plan, error) {
	return a.plan(ctx, p, of, func(all task.Checklists) (task.Checklist, error) { return all.Create(ctx, of, titles, key) })
}

// UpdateTask changes one item of of's checklist.
func (a *Plans) UpdateTask(ctx context.Context, p, of paddock.Principal, change task.Change) (Plan, error) {
	return a.plan(ctx, p, of, func(all task.Checklists) (task.Checklist, error) { return all.Update(ctx, of, change) })
}

// ClearTasks forgets of's checklist.
func (a *Plans) ClearTasks(ctx context.Context, p, of paddock.Principal) (Plan, error) {
	return a.plan(ctx, p, of, func(all task.Checklists) (task.Checklist, error) { return all.Clear(ctx, of) })
}

// Tasks returns of's checklist, which is empty if there is none.
func (a *Plans) Tasks(ctx context.Context, p, of paddock.Principal) (Plan, error) {
	if err := a.owns(p, of); err != nil {
		return Plan{}, err
	}
	list, err := a.tasks().Get(of)
	if err != nil {
		return Plan{}, err
	}
	return a.beside(ctx, list)
}

// Checklists returns those that p may see and that aren't empty.
func (a *Plans) Checklists(ctx context.Context, p paddock.Principal) ([]Plan, error) {
	if err := a.house.Named(p); err != nil {
		return nil, err
	}
	all, err := a.tasks().All()
	plans := []Plan{}
	for _, list := range all {
		if a.owns(p, list.Principal) != nil {
			continue
		}
		plan, besideErr := a.beside(ctx, list)
		err = errors.Join(err, besideErr)
		plans = append(plans, plan)
	}
	return plans, err
}

func (a *Plans) tasks() task.Checklists { return task.Open(a.exec.StateDir(), a.exec.Now) }

func (a *Plans) plan(ctx context.Context, p, of paddock.Principal, do func(task.Checklists) (task.Checklist, error)) (Plan, error) {
	if err := a.owns(p, of); err != nil {
		return Plan{}, err
	}
	if why := a.exec.ReadOnly(); why != nil {
		return Plan{}, paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	}
	list, err := do(a.tasks())
	if err != nil {
		return Plan{}, err
	}
	return a.beside(ctx, list)
}

func (a *Plans) beside(ctx context.Context, list task.Checklist) (Plan, error) {
	running, finished, err := a.exec.Count(ctx, list.Principal)
	plan := Plan{
		Checklist: list, Counts: list.Counts(), Complete: list.Complete(),
		CommandsRunning: running, CommandsFinished: finished,
	}
	room, roomErr := a.delegates(ctx, list.Principal)
	if roomErr != nil {
		return plan, err // nothing can be moved on here
	}
	var countErr error
	plan.DelegatesPending, plan.DelegatesReady, countErr = room.Count(list.Principal)
	return plan, errors.Join(err, countErr)
}

// owns refuses to let p at what belongs to another, unless it is an operator.
func (a *Plans) owns(p, of paddock.Principal) error {
	if err := a.house.Named(p); err != nil {
		return err
	}
	if p != of && p.Kind != paddock.Operator {
		return paddock.Refused(paddock.Forbidden, "A checklist is its principal's own.")
	}
	return a.house.Named(of)
}
