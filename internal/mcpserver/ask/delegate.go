package ask

import (
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/task/delegate"
)

// Delegate is the input of delegate_task.
type Delegate struct {
	Task           string `json:"task" jsonschema:"all that the delegate gets to know: say what to do, where, and what to report"`
	Provider       string `json:"provider,omitzero" jsonschema:"which of the policy's agents; may be left out where there is one"`
	Label          string `json:"label,omitzero" jsonschema:"a name for people"`
	Cwd            string `json:"cwd,omitzero" jsonschema:"working directory inside a root; the first root unless given"`
	TimeoutMs      *int64 `json:"timeoutMs,omitzero" jsonschema:"end it after so many milliseconds; can only lower the policy's limit"`
	IdempotencyKey string `json:"idempotencyKey,omitzero" jsonschema:"asking again with the same key and task returns the same delegate"`
}

func (Delegate) Bounds(p map[string]*jsonschema.Schema) { atLeast(p["timeoutMs"], 1) }

func (in Delegate) Check() error {
	if in.Task == "" {
		return invalid("task is missing; want a text that says what to do")
	}
	if ms := in.TimeoutMs; ms != nil && (*ms < 1 || *ms > mostMillis) {
		return invalid("timeoutMs is %d; want at least 1", *ms)
	}
	return nil
}

// Ask returns what is asked for.
func (in Delegate) Ask(p paddock.Principal, tied bool, parent string) delegate.Ask {
	return delegate.Ask{
		Principal: p, Door: paddock.DoorMCP, Tied: tied, Provider: in.Provider, Task: in.Task, Label: in.Label, Dir: in.Cwd,
		Timeout: paddock.Duration(time.Duration(orZero(in.TimeoutMs)) * time.Millisecond), Key: in.IdempotencyKey, Parent: parent,
	}
}

// Collect is the input of collect_results.
type Collect struct {
	Mode        string   `json:"mode,omitzero" jsonschema:"any (the default) waits for the first result, all until no delegate is pending"`
	WorkerID    string   `json:"workerId,omitzero" jsonschema:"only this delegate"`
	WaitMs      *int64   `json:"waitMs,omitzero" jsonschema:"wait so long; 45000 unless given and at most; 0 only looks"`
	Acknowledge []string `json:"acknowledge,omitzero" jsonschema:"workerIds whose results you have: they are not handed out again"`
}

func (Collect) Bounds(p map[string]*jsonschema.Schema) {
	oneOf(p["mode"], "any", "all")
	atLeast(p["waitMs"], 0)
	most := delegate.MostOpen
	p["acknowledge"].MaxItems = &most
}

func (in Collect) Check() error {
	if in.Mode != "" && in.Mode != "any" && in.Mode != "all" {
		return invalid("mode is %q; want any or all", shortened(in.Mode, 64))
	}
	return checkWait(in.WaitMs)
}

// Collect returns what is asked for.
func (in Collect) Collect(p paddock.Principal) delegate.Collect {
	wait := paddock.MaxWait
	if in.WaitMs != nil {
		wait, _ = waitOf(in.WaitMs)
	}
	return delegate.Collect{Principal: p, All: in.Mode == "all", ID: in.WorkerID, Wait: wait, Acknowledge: in.Acknowledge}
}

// Cancel is the input of cancel_delegate.
type Cancel struct {
	WorkerID string `json:"workerId" jsonschema:"as delegate_task returned it"`
	Reason   string `json:"reason,omitzero" jsonschema:"why, for the record: one line of at most 500 bytes"`
}

func (Cancel) Bounds(map[string]*jsonschema.Schema) {}

func (in Cancel) Check() error {
	if in.WorkerID == "" {
		return invalid("workerId is missing; want one that delegate_task returned")
	}
	return nil
}
