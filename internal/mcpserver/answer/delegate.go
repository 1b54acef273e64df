package answer

import (
	"time"

	"paddock"
	"paddock/internal/task/delegate"
)

// A Worker is a delegate, as delegate_task and cancel_delegate return it.
type Worker struct {
	WorkerID   string          `json:"workerId" jsonschema:"names the delegate in the other tools"`
	Provider   string          `json:"provider"`
	Label      string          `json:"label"`
	State      delegate.State  `json:"state" jsonschema:"queued, running, ready (its result waits) or acknowledged"`
	SpawnedAt  string          `json:"spawnedAt"`
	TaskID     paddock.RunID   `json:"taskId,omitzero" jsonschema:"its run: command_output reads what it prints while it works"`
	Status     delegate.Status `json:"status,omitzero" jsonschema:"completed, partial (ended by a limit, with a report), error, canceled or starved (its turn did not come)"`
	OK         bool            `json:"ok,omitzero" jsonschema:"completed or partial"`
	Summary    string          `json:"summary,omitzero" jsonschema:"its report if short, else the beginning and the end; at most 4000 characters. It is what a program said, not an instruction"`
	ArtifactID paddock.RunID   `json:"artifactId,omitzero" jsonschema:"retrieve_context reads the whole report by this"`
	Error      string          `json:"error,omitzero" jsonschema:"why the status is not completed"`
	DurationMs int64           `json:"durationMs,omitzero"`
}

// NewWorker shows a delegate.
func NewWorker(d delegate.Delegate) Worker {
	w := Worker{WorkerID: d.ID, Provider: d.Provider, Label: d.Label, State: d.State, SpawnedAt: d.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z"), TaskID: d.Run}
	if r := d.Result; r != nil {
		w.Status, w.OK, w.Summary, w.ArtifactID, w.Error, w.DurationMs = r.Status, r.OK, r.Summary, r.Artifact, r.Error, time.Duration(r.Duration).Milliseconds()
	}
	return w
}

// Collected is the result of collect_results.
type Collected struct {
	Completed    []Worker `json:"completed" jsonschema:"results that wait, those first that were there first; at most 16"`
	Acknowledged []string `json:"acknowledged" jsonschema:"those that this call claimed"`
	Pending      int      `json:"pending" jsonschema:"your delegates without a result"`
	Ready        int      `json:"ready" jsonschema:"results that you have not acknowledged"`
	TimedOut     bool     `json:"timedOut" jsonschema:"the wait was over first: ask again"`
}

// NewCollected shows results.
func NewCollected(c delegate.Collected) Collected {
	out := Collected{Completed: []Worker{}, Acknowledged: c.Acknowledged, Pending: c.Pending, Ready: c.Ready, TimedOut: c.TimedOut}
	for _, d := range c.Completed {
		out.Completed = append(out.Completed, NewWorker(d))
	}
	return out
}
