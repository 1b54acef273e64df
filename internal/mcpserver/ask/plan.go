package ask

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock/internal/task"
)

// CreateTasks is the input of tasks_create.
type CreateTasks struct {
	Titles         []string `json:"titles" jsonschema:"one line of at most 500 bytes each; blank ones are left out"`
	IdempotencyKey string   `json:"idempotencyKey,omitzero" jsonschema:"asking again with the same key and titles adds nothing"`
}

func (CreateTasks) Bounds(p map[string]*jsonschema.Schema) {
	most := task.MostItems
	p["titles"].MaxItems = &most
}

func (in CreateTasks) Check() error {
	if len(in.Titles) == 0 {
		return invalid(`titles is missing or empty; want an array of strings, as ["read the code", "write a test"]`)
	}
	return nil
}

// UpdateTask is the input of tasks_update.
type UpdateTask struct {
	ID     string `json:"id" jsonschema:"of an item, as t1"`
	Status string `json:"status" jsonschema:"closed means given up, and needs a note"`
	Note   string `json:"note,omitzero" jsonschema:"at most 1000 bytes; takes the place of the one before"`
}

func (UpdateTask) Bounds(p map[string]*jsonschema.Schema) { oneOf(p["status"], task.Statuses()...) }

func (in UpdateTask) Check() error {
	if in.ID == "" {
		return invalid("id is missing; want that of an item, as t1")
	}
	if !slices.Contains(task.Statuses(), task.Status(in.Status)) {
		var all []string
		for _, s := range task.Statuses() {
			all = append(all, string(s))
		}
		return invalid("status is %q; want one of %s", shortened(in.Status, 64), strings.Join(all, ", "))
	}
	return nil
}

// Change returns what becomes of the item.
func (in UpdateTask) Change() task.Change {
	return task.Change{ID: in.ID, Status: task.Status(in.Status), Note: in.Note}
}

// ListTasks is the input of tasks_list.
type ListTasks struct{}

func (ListTasks) Bounds(map[string]*jsonschema.Schema) {}

func (ListTasks) Check() error { return nil }
