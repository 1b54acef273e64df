package app

import (
	"errors"
	"testing"

	"paddock"
	"paddock/internal/task"
)

// A checklist is its principal's own, and the operator's to see and change.
func TestWhoseChecklist(t *testing.T) {
	t.Parallel()
	a := open(t)
	if _, err := a.CreateTasks(t.Context(), alice, alice, []string{"x"}, ""); err != nil {
		t.Fatal(err)
	}
	verbs := map[string]func(p paddock.Principal) error{
		"show": func(p paddock.Principal) error { _, err := a.Tasks(t.Context(), p, alice); return err },
		"create": func(p paddock.Principal) error {
			_, err := a.CreateTasks(t.Context(), p, alice, []string{"y"}, "")
			return err
		},
		"update": func(p paddock.Principal) error {
			_, err := a.UpdateTask(t.Context(), p, alice, task.Change{ID: "t1", Status: task.Done})
			return err
		},
		"clear": func(p paddock.Principal) error { _, err := a.ClearTasks(t.Context(), p, alice); return err },
	}
	for name, verb := range verbs {
		for _, p := range []paddock.Principal{bob, {}, {Kind: paddock.Host, ID: alice.ID}} {
			if err := verb(p); code(err) != paddock.Forbidden {
				t.Errorf("%s by %+v: %v", name, p, err)
			}
		}
	}
	for p, want := range map[paddock.Principal]int{alice: 1, bob: 0, operator: 1} {
		if all, err := a.Checklists(t.Context(), p); err != nil || len(all) != want {
			t.Errorf("%s sees %+v, %v", p.ID, all, err)
		}
	}
	for _, name := range []string{"show", "create", "update", "clear"} {
		if err := verbs[name](operator); err != nil {
			t.Errorf("%s by the operator: %v", name, err)
		}
	}
}

// The counters beside a checklist are those of its own principal.
func TestChecklistCounts(t *testing.T) {
	t.Parallel()
	a := open(t)
	run := start(t, a, alice, "exit 0")
	if err := a.Settled(t.Context(), alice, run.ID); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[paddock.Principal]int{alice: 1, bob: 0} {
		if plan, err := a.Tasks(t.Context(), p, p); err != nil || plan.CommandsFinished != want || plan.CommandsRunning != 0 {
			t.Errorf("%s: %+v, %v", p.ID, plan, err)
		}
	}
	if _, err := a.Status(t.Context(), alice, run.ID); err != nil {
		t.Fatal(err)
	}
	if plan, err := a.Tasks(t.Context(), alice, alice); err != nil || plan.CommandsFinished != 0 {
		t.Errorf("after reading: %+v, %v", plan, err)
	}
}

func code(err error) paddock.Code {
	if r, ok := errors.AsType[*paddock.Refusal](err); ok {
		return r.Code
	}
	return ""
}
