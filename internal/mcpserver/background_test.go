package mcpserver

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/mcpserver/answer"
)

// knowing is the _meta of a client that knows tasks.
var knowing = strings.Replace(stateless, `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)

// A followed is what tasks/get answers, and run_command_bg to who knows tasks.
type followed struct {
	ResultType, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string
	TTLMs                                                               jsontext.Value
	PollIntervalMs                                                      int64
	Result                                                              *toolResult
}

func (c *client) startTask(argv string) followed {
	c.t.Helper()
	m := c.ask("tools/call", `{`+knowing+`,"name":"run_command_bg","arguments":{"argv":`+argv+`}}`)
	if m.Error != nil {
		c.t.Fatalf("start: %s", m.raw)
	}
	return parse[followed](c.t, m.Result)
}

func (c *client) task(method, id string) message {
	c.t.Helper()
	return c.ask(method, fmt.Sprintf(`{%s,"taskId":%q}`, knowing, id))
}

// A run is a task to who knows tasks, and its own answer when it has ended.
func TestRunsAreTasks(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := dial(t, Config{App: f})
	m := c.ask("server/discover", `{`+knowing+`}`)
	if !strings.Contains(m.raw, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
		t.Errorf("discover: %s", m.raw)
	}
	begun := c.startTask(`["go","test"]`)
	if begun.ResultType != "task" || begun.Status != "working" || begun.CreatedAt == "" || begun.LastUpdatedAt == "" || string(begun.TTLMs) != "null" || begun.PollIntervalMs <= 0 || begun.Result != nil {
		t.Errorf("%+v", begun)
	}
	if got := parse[followed](t, c.task("tasks/get", begun.TaskID).Result); got.ResultType != "complete" || got.Status != "working" || got.Result != nil {
		t.Errorf("meanwhile: %+v", got)
	}
	f.change(paddock.RunID(begun.TaskID), func(r *fakeRun) {
		r.stdout = []byte("FAIL\n")
		r.Stdout.Bytes = 5
		r.exit(1)
	})
	got := parse[followed](t, c.task("tasks/get", begun.TaskID).Result)
	if got.Status != "completed" || got.Result == nil || got.Result.IsError || len(got.Result.Content) != 1 {
		t.Fatalf("at the end: %+v", got)
	}
	if end := parse[answer.Started](t, got.Result.Structured); end.State != paddock.Exited || end.ExitCode == nil || *end.ExitCode != 1 || end.TailPreview != "FAIL\n" || string(end.TaskID) != begun.TaskID {
		t.Errorf("at the end: %+v", end)
	}
	if m := c.task("tasks/cancel", begun.TaskID); m.Error != nil || len(f.killed) != 0 {
		t.Errorf("canceling what has ended: %s %v", m.raw, f.killed)
	}
}

func TestTaskCancel(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := dial(t, Config{App: f})
	begun := c.startTask(`["sleep"]`)
	if m := c.task("tasks/update", begun.TaskID); m.Error != nil {
		t.Errorf("update: %s", m.raw)
	}
	if got := parse[map[string]any](t, c.task("tasks/cancel", begun.TaskID).Result); got["taskId"] != nil || got["status"] != nil || got["resultType"] != "complete" {
		t.Errorf("cancel: %v", got)
	}
	if len(f.killed) != 1 || !f.killed[0].NoWait {
		t.Errorf("killed: %+v", f.killed)
	}
	if got := parse[followed](t, c.task("tasks/get", begun.TaskID).Result); got.Status != "cancelled" || got.Result != nil {
		t.Errorf("then: %+v", got)
	}
}

// Who doesn't know tasks gets none, and another's look like none.
func TestTasksAreNotForAll(t *testing.T) {
	t.Parallel()
	f := &fake{}
	theirs := f.add(stranger, "secret")
	c := dial(t, Config{App: f})
	m := c.ask("tools/call", `{`+stateless+`,"name":"run_command_bg","arguments":{"argv":["go"]}}`)
	if r := c.result(m); r.ResultType != "complete" || r.IsError {
		t.Errorf("start: %s", m.raw)
	}
	mine := parse[answer.Started](t, c.result(m).Structured).TaskID
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if m := c.ask(method, fmt.Sprintf(`{%s,"taskId":%q}`, stateless, mine)); m.Error == nil || m.Error.Code != -32021 || !strings.Contains(m.raw, `"requiredCapabilities"`) {
			t.Errorf("%s unasked: %s", method, m.raw)
		}
		var said string
		for _, id := range []string{string(theirs), "r00000000000000000000000000", "", "../x", strings.Repeat("x", 10_000)} {
			m := c.task(method, id)
			if m.Error == nil || m.Error.Code != -32602 {
				t.Fatalf("%s %.30q: %s", method, id, m.raw)
			}
			if said == "" {
				said = m.Error.Message
			}
			if m.Error.Message != said {
				t.Errorf("%s %.30q is told apart: %s", method, id, m.raw)
			}
		}
		if m := c.ask(method, `{`+knowing+`,"taskId":7}`); m.Error == nil {
			t.Errorf("%s of a number: %s", method, m.raw)
		}
		if m := c.ask(method, `{`+knowing+`}`); m.Error == nil {
			t.Errorf("%s of nothing: %s", method, m.raw)
		}
	}
	for _, method := range []string{"tasks/result", "tasks/list"} {
		if m := c.task(method, string(mine)); m.Error == nil || m.Error.Code != -32601 {
			t.Errorf("%s: %s", method, m.raw)
		}
	}
	if len(f.killed) != 0 {
		t.Errorf("killed: %+v", f.killed)
	}
	if m := c.ask("tools/call", `{`+knowing+`,"name":"run_command_bg","arguments":{"argv":null}}`); !c.result(m).IsError {
		t.Errorf("what is refused is no task: %s", m.raw)
	}
	f.before = func(verb string) error {
		if verb == "status" {
			return errors.New("the disk is on fire")
		}
		return nil
	}
	if m := c.task("tasks/get", string(mine)); m.Error == nil || m.Error.Code != -32603 || strings.Contains(m.raw, "fire") {
		t.Errorf("a fault: %s", m.raw)
	}
}

// Clients that may not end runs don't, and without the tool there are no tasks.
func TestTasksOfFewTools(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := dial(t, Config{App: f, Tools: []string{"run_command_bg", "command_status"}})
	begun := c.startTask(`["sleep"]`)
	if m := c.task("tasks/cancel", begun.TaskID); m.Error == nil || len(f.killed) != 0 {
		t.Errorf("cancel: %s", m.raw)
	}
	c = dial(t, Config{App: f, Tools: []string{"command_status"}})
	if m := c.task("tasks/get", begun.TaskID); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("get: %s", m.raw)
	}
}
