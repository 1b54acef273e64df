// Package book has what is known of delegates, and keeps it: a file for each in the
// state directory.
//
// # Limits
//
// It moves nothing on; package delegate does, under the shelf's lock.
package book

import (
	"slices"
	"strings"
	"time"

	"paddock"
)

// A State says how far a delegate is.
type State string

// The states.
const (
	Queued       State = "queued"       // waits for its turn
	Running      State = "running"      // its run goes on
	Ready        State = "ready"        // its result waits to be acknowledged
	Acknowledged State = "acknowledged" // whoever asked has the result
)

// A Status says what came of a delegate.
type Status string

// The statuses.
const (
	Completed Status = "completed" // its program ended with status 0
	Partial   Status = "partial"   // it was ended by a limit, and had printed something
	Failed    Status = "error"     // it failed, or there was nothing to start
	Canceled  Status = "canceled"
	Starved   Status = "starved" // its turn didn't come in time
)

// A Result is what came of a delegate.
type Result struct {
	Status Status `json:"status"`
	OK     bool   `json:"ok"` // completed or partial
	// Summary is the report if that is short, else its beginning and its end.
	Summary string `json:"summary"`
	// Artifact is the whole report, by the id of its run.
	Artifact paddock.RunID `json:"artifact_id,omitempty"`
	// Error says in words why the status isn't completed.
	Error     string           `json:"error,omitempty"`
	SettledAt time.Time        `json:"settled_at"`
	Duration  paddock.Duration `json:"duration_ms"`
}

// A Cancel is who wanted a delegate ended, and why.
type Cancel struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

// A Delegate is a task that was given to an agent.
type Delegate struct {
	Version   int               `json:"version"`
	ID        string            `json:"id"`
	State     State             `json:"state"`
	Principal paddock.Principal `json:"principal"`
	Door      paddock.Door      `json:"door"`
	Provider  string            `json:"provider"`
	Label     string            `json:"label"`
	// Tools are those that it has of Paddock's.
	Tools []string `json:"tools,omitempty"`
	Depth int      `json:"depth"`
	// Parent is the delegate that asked for this one.
	Parent    string        `json:"parent,omitempty"`
	CreatedAt time.Time     `json:"created_at"`
	Run       paddock.RunID `json:"run,omitempty"`
	Cancel    *Cancel       `json:"cancel,omitempty"`
	Result    *Result       `json:"result,omitempty"`
	// AcknowledgedAt is when the result was claimed.
	AcknowledgedAt *time.Time `json:"acknowledged_at,omitempty"`

	// PrunedBy is who had the result go without being acknowledged.
	PrunedBy string `json:"pruned_by,omitempty"`

	// Job is what is to be started; nil once it was.
	Job *Job `json:"job,omitempty"`
	// Key is the digest of the idempotency key it was asked for with, and of the task.
	Key string `json:"key,omitempty"`
}

// A Job is what a delegate is to do.
type Job struct {
	Argv    []string         `json:"argv"`
	Task    string           `json:"task"`
	Dir     string           `json:"dir,omitempty"`
	Timeout paddock.Duration `json:"timeout_ms,omitempty"`
	Tied    bool             `json:"tied,omitempty"`
}

// FileVersion implements durable.Versioned.
func (d *Delegate) FileVersion() int { return d.Version }

// Session is in whose name a delegate asks.
func (d Delegate) Session() paddock.Principal { return d.Principal.Delegate(d.Provider, d.ID) }

// Within reports whether every one of tools is among all.
func Within(tools, all []string) bool {
	return !slices.ContainsFunc(tools, func(tool string) bool { return !slices.Contains(all, tool) })
}

// Pending reports whether there is no result yet.
func (d Delegate) Pending() bool { return d.State == Queued || d.State == Running }

// NewID returns an id that nobody guesses and that sorts by time.
func NewID(now time.Time) (string, error) {
	id, err := paddock.NewRunID(now, nil)
	return "d" + strings.TrimPrefix(string(id), "r"), err
}

// ParseID says whether s can be a delegate's id.
func ParseID(s string) bool {
	_, err := paddock.ParseRunID("r" + strings.TrimPrefix(s, "d"))
	return err == nil && strings.HasPrefix(s, "d")
}
