package mcpserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app/plans"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/task/delegate"
)

// delegated answers for delegates from memory.
type delegated struct {
	plans.Verbs
	mu       sync.Mutex
	asked    []delegate.Ask
	wanted   []delegate.Collect
	canceled []string
}

func (f *delegated) Delegate(_ context.Context, ask delegate.Ask) (delegate.Delegate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, ask)
	return delegate.Delegate{ID: "d1", State: delegate.Running, Provider: ask.Provider, Label: "x", Run: "r1", CreatedAt: time.Now().Add(time.Hour)}, nil
}

func (f *delegated) CollectDelegates(_ context.Context, c delegate.Collect) (delegate.Collected, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = append(f.wanted, c)
	result := delegate.Result{Status: delegate.Completed, OK: true, Summary: "done", Artifact: "r1", Duration: paddock.Duration(1500 * time.Millisecond)}
	return delegate.Collected{Completed: []delegate.Delegate{{ID: "d1", State: delegate.Ready, Result: &result}}, Acknowledged: []string{"d0"}, Pending: 1, Ready: 1}, nil
}

func (f *delegated) CancelDelegate(_ context.Context, _ paddock.Principal, id, why string) (delegate.Delegate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.canceled = append(f.canceled, id+" "+why)
	return delegate.Delegate{ID: id, State: delegate.Ready, Result: &delegate.Result{Status: delegate.Canceled, Error: why}}, nil
}

func agentsOn(f *fake) Config {
	return Config{App: f, Delegates: func() bool { return true }, Delegate: "d9", OnDisconnect: Kill}
}

// The tools for delegates say what is asked, wait 45 seconds at most and by default,
// and end what a connection started with it.
func TestDelegateTools(t *testing.T) {
	t.Parallel()
	room := &delegated{}
	c := connect(t, agentsOn(&fake{planned: planned{Verbs: room}}))
	worker := ok[answer.Worker](c, "delegate_task", `{"task": "do", "provider": "p", "label": "l", "cwd": "sub", "timeoutMs": 5000, "idempotencyKey": "k"}`)
	want := delegate.Ask{Principal: me, Door: paddock.DoorMCP, Tied: true, Provider: "p", Task: "do", Label: "l", Dir: "sub", Timeout: paddock.Duration(5 * time.Second), Parent: "d9", Key: "k"}
	if worker.WorkerID != "d1" || worker.TaskID != "r1" || worker.State != delegate.Running || room.asked[0] != want {
		t.Errorf("%+v %+v", worker, room.asked)
	}
	got := ok[answer.Collected](c, "collect_results", `{}`)
	if len(got.Completed) != 1 || got.Completed[0].ArtifactID != "r1" || got.Completed[0].Summary != "done" || got.Completed[0].DurationMs != 1500 || got.Pending != 1 || !slices.Equal(got.Acknowledged, []string{"d0"}) {
		t.Errorf("%+v", got)
	}
	for _, args := range []string{`{"waitMs": 0, "mode": "all"}`, `{"waitMs": 300000, "workerId": "d1", "acknowledge": ["d1"]}`} {
		ok[answer.Collected](c, "collect_results", args)
	}
	for i, want := range []delegate.Collect{{Wait: 45 * time.Second}, {All: true}, {ID: "d1", Wait: 45 * time.Second}} {
		if w := room.wanted[i]; w.Wait != want.Wait || w.All != want.All || w.ID != want.ID || w.Principal != me {
			t.Errorf("%d: %+v", i, w)
		}
	}
	if w := ok[answer.Worker](c, "cancel_delegate", `{"workerId": "d2", "reason": "enough"}`); w.Status != delegate.Canceled || w.Error != "enough" {
		t.Errorf("%+v", w)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	if last := room.canceled[len(room.canceled)-1]; !strings.HasPrefix(last, "d1 its caller") {
		t.Errorf("%q", room.canceled)
	}
}

func TestDelegateToolsRefuse(t *testing.T) {
	t.Parallel()
	c := connect(t, agentsOn(&fake{planned: planned{Verbs: &delegated{}}}))
	for _, test := range [][3]string{
		{"delegate_task", `{}`, "task is missing"},
		{"delegate_task", `{"task": 5}`, "a string"},
		{"delegate_task", `{"task": "x", "argv": ["sh"]}`, "no field argv"},
		{"delegate_task", `{"task": "x", "timeoutMs": 0}`, "at least 1"},
		{"delegate_task", `{"task": "x", "timeoutMs": 9223372036854775807}`, "timeoutMs is"},
		{"collect_results", `{"mode": "some"}`, "any or all"},
		{"collect_results", `{"waitMs": -1}`, "waitMs is -1"},
		{"collect_results", `{"acknowledge": "d1"}`, "an array of strings"},
		{"cancel_delegate", `{}`, "workerId is missing"},
	} {
		if got := no(c, test[0], test[1]); got.Code != paddock.InvalidRequest || !strings.Contains(got.Message, test[2]) {
			t.Errorf("%v: %+v", test, got)
		}
	}
	if list := connect(t, Config{App: &fake{}}).ask("tools/list", `{}`); strings.Contains(string(list.Result), "delegate_task") {
		t.Error("there are tools where the policy lets no agents be started")
	}
}
