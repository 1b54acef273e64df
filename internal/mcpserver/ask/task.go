package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/app"
)

// Status is the input of command_status.
type Status struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	WaitMs *int64 `json:"waitMs,omitzero" jsonschema:"wait so long for the task to end; more than 45000 waits 45000"`
}

func (Status) Bounds(p map[string]*jsonschema.Schema) { atLeast(p["waitMs"], 0) }

func (in Status) Check() error {
	if in.TaskID == "" {
		return invalid("taskId is missing; want one that run_command_bg returned")
	}
	return checkWait(in.WaitMs)
}

// Wait returns how long to wait, and a note when that is less than asked.
func (in Status) Wait() (wait time.Duration, note string) { return waitOf(in.WaitMs) }

const mostWait = int64(paddock.MaxWait / time.Millisecond)

func checkWait(ms *int64) error {
	if orZero(ms) < 0 {
		return invalid("waitMs is %d; want 0 to %d", *ms, mostWait)
	}
	return nil
}

func waitOf(ms *int64) (time.Duration, string) {
	if n := orZero(ms); n <= mostWait {
		return time.Duration(n) * time.Millisecond, ""
	}
	return paddock.MaxWait, fmt.Sprintf("a call waits at most %d ms; ask again to wait on", mostWait)
}

// Kill is the input of command_kill.
type Kill struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	Signal string `json:"signal,omitzero" jsonschema:"TERM unless given; KILL leaves no time to clean up"`
	Reason string `json:"reason,omitzero" jsonschema:"why, for the record: one line of at most 500 bytes"`
}

var signals = []string{"TERM", "INT", "HUP", "KILL"}

func (Kill) Bounds(p map[string]*jsonschema.Schema) { oneOf(p["signal"], signals...) }

func (in Kill) Check() error {
	if in.TaskID == "" {
		return invalid("taskId is missing; want one that run_command_bg returned")
	}
	if in.Signal != "" && !slices.Contains(signals, in.Signal) {
		return invalid("signal is %q; want one of %s", shortened(in.Signal, 64), strings.Join(signals, ", "))
	}
	if len(in.Reason) > 500 || strings.ContainsAny(in.Reason, "\x00\r\n") {
		return invalid("reason must be one line of at most 500 bytes")
	}
	return nil
}

// Request returns how the run is to be ended.
func (in Kill) Request() app.KillRequest {
	return app.KillRequest{Signal: in.Signal, Reason: in.Reason}
}

// TaskID parses an id. What isn't one looks like an id that is unknown.
func TaskID(s string) (paddock.RunID, error) {
	id, err := paddock.ParseRunID(s)
	if err != nil {
		return "", NoTask(s)
	}
	return id, nil
}

// NoTask is the one answer for ids that are malformed, unknown or another's.
func NoTask(id string) *paddock.Refusal {
	r := paddock.Refused(paddock.NotFound, "there is no task %q, or it isn't yours", shortened(id, 64))
	r.Hint = "Use a taskId that run_command_bg returned; command_list shows yours."
	return r
}
