//go:build linux

package runner

import (
	"testing"

	"paddock"
)

// A host asks whether everything was dealt with, and sees its own list only.
func TestTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.r.CreateTasks(t.Context(), "k", "one", "two")
	must(t, err)
	plan, err := w.r.CreateTasks(t.Context(), "k", "one", "two")
	if err != nil || len(plan.Items) != 2 || plan.Complete {
		t.Errorf("%+v, %v", plan, err)
	}
	run := w.done("exit 0")
	for _, change := range []TaskChange{{ID: "t1", Status: TaskDone}, {ID: "t2", Status: TaskClosed, Note: "why not"}} {
		plan, err = w.r.UpdateTask(t.Context(), change)
		must(t, err)
	}
	if !plan.Complete || plan.Counts[TaskClosed] != 1 || plan.CommandsRunning != 0 || plan.CommandsFinished != 0 {
		t.Errorf("%+v after %s", plan, run.ID)
	}
	_, err = w.r.UpdateTask(t.Context(), TaskChange{ID: "t3", Status: TaskDone})
	refused(t, err, paddock.NotFound)
	if plan, err = w.r.ClearTasks(t.Context()); err != nil || len(plan.Items) != 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	if plan, err = w.r.Tasks(t.Context()); err != nil || len(plan.Items) != 0 || !plan.Complete {
		t.Errorf("%+v, %v", plan, err)
	}
}
