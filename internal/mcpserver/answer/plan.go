package answer

import (
	"time"

	"paddock/internal/app/plans"
	"paddock/internal/task"
)

// A Plan is the result of the tools for the checklist: all of it, each time.
type Plan struct {
	Items    []Item  `json:"items" jsonschema:"the whole checklist, oldest first"`
	Counts   Amounts `json:"counts" jsonschema:"items of each status"`
	Complete bool    `json:"complete" jsonschema:"every item is done or closed"`

	CommandsRunning  int `json:"commandsRunning" jsonschema:"your commands that have not ended"`
	CommandsFinished int `json:"commandsFinished" jsonschema:"your commands that have ended and whose status you have not read"`
	DelegatesPending int `json:"delegatesPending" jsonschema:"your delegates without a result"`
	DelegatesReady   int `json:"delegatesReady" jsonschema:"results of delegates that you have not acknowledged"`
}

// An Item is one thing to do.
type Item struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Status    task.Status `json:"status"`
	Note      string      `json:"note,omitzero"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
}

// Amounts are items by status.
type Amounts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Done       int `json:"done"`
	Closed     int `json:"closed"`
}

// NewPlan shows a checklist.
func NewPlan(p plans.Plan) Plan {
	out := Plan{
		Items:    []Item{},
		Counts:   Amounts{p.Counts[task.Pending], p.Counts[task.InProgress], p.Counts[task.Done], p.Counts[task.Closed]},
		Complete: p.Complete, CommandsRunning: p.CommandsRunning, CommandsFinished: p.CommandsFinished,
		DelegatesPending: p.DelegatesPending, DelegatesReady: p.DelegatesReady,
	}
	for _, i := range p.Items {
		out.Items = append(out.Items, Item(i))
	}
	return out
}
