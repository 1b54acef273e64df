package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/mcpserver/answer"
)

// The checklist over MCP: the whole list each time, for the principal of the
// connection and no other.
func TestTasksTools(t *testing.T) {
	t.Parallel()
	f := &fake{planned: planned{state: t.TempDir()}}
	c := connect(t, Config{App: f})
	ok[answer.Plan](c, "tasks_create", `{"titles": ["read", "  ", " write "], "idempotencyKey": "k"}`)
	plan := ok[answer.Plan](c, "tasks_create", `{"titles": ["read", "  ", " write "], "idempotencyKey": "k"}`)
	if len(plan.Items) != 2 || plan.Items[1].ID != "t2" || plan.Items[1].Title != "write" || plan.Items[0].CreatedAt.IsZero() {
		t.Errorf("%+v", plan)
	}
	ok[answer.Plan](c, "tasks_update", `{"id": "t1", "status": "done"}`)
	plan = ok[answer.Plan](c, "tasks_update", `{"id": "t2", "status": "closed", "note": "not needed"}`)
	if plan.Items[1].Note != "not needed" || plan.Counts.Done != 1 || plan.Counts.Closed != 1 || !plan.Complete {
		t.Errorf("%+v", plan)
	}
	plan = ok[answer.Plan](c, "tasks_list", `{}`)
	if len(plan.Items) != 2 || plan.CommandsRunning != 1 || plan.CommandsFinished != 2 {
		t.Errorf("%+v", plan)
	}
	other := connect(t, Config{App: f, Principal: stranger})
	plan = ok[answer.Plan](other, "tasks_list", `{}`)
	if len(plan.Items) != 0 {
		t.Errorf("another's checklist is shown: %+v", plan)
	}
}

func TestTasksToolsRefuse(t *testing.T) {
	t.Parallel()
	c := connect(t, Config{App: &fake{planned: planned{state: t.TempDir()}}})
	many := `"x"` + strings.Repeat(`,"x"`, 300)
	for _, test := range []struct {
		tool, args string
		code       paddock.Code
		want       string
	}{
		{"tasks_update", `{"id": "t1", "status": "done"}`, paddock.NotFound, "tasks_create"},
		{"tasks_create", `{}`, paddock.InvalidRequest, "titles is missing"},
		{"tasks_create", `{"titles": ["", " "]}`, paddock.InvalidRequest, "no title"},
		{"tasks_create", `{"titles": "x"}`, paddock.InvalidRequest, "an array of strings"},
		{"tasks_create", `{"titles": [1]}`, paddock.InvalidRequest, "a string"},
		{"tasks_create", `{"titles": [null]}`, paddock.InvalidRequest, "null"},
		{"tasks_create", `{"titles": ["a\u0000b"]}`, paddock.InvalidRequest, "Title 1"},
		{"tasks_create", `{"titles": ["a\nb"]}`, paddock.InvalidRequest, "one line"},
		{"tasks_create", fmt.Sprintf(`{"titles": [%q]}`, strings.Repeat("x", 501)), paddock.InvalidRequest, "500 bytes"},
		{"tasks_create", `{"titles": [` + many + `]}`, paddock.InvalidRequest, "at most 200 items"},
		{"tasks_create", `{"titles": ["x"], "titles": ["y"]}`, paddock.InvalidRequest, "duplicate name"},
		{"tasks_create", `{"titles": ["x"], "owner": "me"}`, paddock.InvalidRequest, "no field owner"},
		{"tasks_update", `{"status": "done"}`, paddock.InvalidRequest, "id is missing"},
		{"tasks_update", `{"id": "t1", "status": "finished"}`, paddock.InvalidRequest, "pending, in_progress, done, closed"},
		{"tasks_list", `{"of": "x"}`, paddock.InvalidRequest, "no field of"},
	} {
		got := no(c, test.tool, test.args)
		if got.Code != test.code || !strings.Contains(got.Message+got.Hint, test.want) {
			t.Errorf("%s %.60s: %+v", test.tool, test.args, got)
		}
	}
}
