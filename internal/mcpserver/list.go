package mcpserver

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/app"
)

// mostListed bounds one listing, and mostShown the bytes of argv shown of each:
// a listing is for finding a task again, not for moving its arguments.
const (
	mostListed = 200
	mostShown  = 500
)

type listInput struct {
	Active bool   `json:"active,omitzero" jsonschema:"only tasks that have not ended"`
	Limit  *int64 `json:"limit,omitzero" jsonschema:"most tasks in this answer; 50 unless given"`
	Before string `json:"before,omitzero" jsonschema:"only tasks made before this one: next of the answer before"`
}

func (listInput) bounds(p map[string]*jsonschema.Schema) { within(p["limit"], 1, mostListed) }

func (in listInput) check() error {
	if n := in.Limit; n != nil && (*n < 1 || *n > mostListed) {
		return invalid("limit is %d; want 1 to %d", *n, mostListed)
	}
	if in.Before != "" {
		if _, err := paddock.ParseRunID(in.Before); err != nil {
			return invalid("before is %q; want the next of the answer before", shortened(in.Before, 64))
		}
	}
	return nil
}

type listResult struct {
	Tasks []listed      `json:"tasks" jsonschema:"newest first"`
	Next  paddock.RunID `json:"next,omitzero" jsonschema:"the before of the next answer; not there on the last"`
	counters
}

type listed struct {
	TaskID      paddock.RunID `json:"taskId"`
	Label       string        `json:"label"`
	Argv        []string      `json:"argv" jsonschema:"the first words, up to about 500 bytes"`
	Words       int           `json:"words" jsonschema:"how many words argv really has"`
	Cwd         string        `json:"cwd"`
	State       paddock.State `json:"state"`
	Settled     bool          `json:"settled"`
	ExitCode    *int          `json:"exitCode,omitzero"`
	Signal      string        `json:"signal,omitzero"`
	CreatedAt   time.Time     `json:"createdAt"`
	DurationMs  int64         `json:"durationMs"`
	StdoutBytes int64         `json:"stdoutBytes"`
	StderrBytes int64         `json:"stderrBytes"`
}

// list is command_list.
func (s *session) list(ctx context.Context, _ call, in listInput) (listResult, error) {
	listing, err := s.App.List(ctx, s.Principal, app.Filter{
		Active: in.Active, Limit: int(orZero(in.Limit)), Before: paddock.RunID(in.Before),
	})
	if err != nil {
		return listResult{}, err
	}
	out := listResult{Tasks: []listed{}, Next: listing.Next, counters: s.counters(ctx)}
	for _, run := range listing.Runs {
		item := listed{
			TaskID: run.ID, Label: run.Label, Argv: firstWords(run.Argv), Words: len(run.Argv), Cwd: run.Dir,
			State: run.State, Settled: run.State.Settled(), CreatedAt: run.CreatedAt,
			DurationMs:  millis(time.Duration(run.Duration)),
			StdoutBytes: run.Stdout.Bytes, StderrBytes: run.Stderr.Bytes,
		}
		if o := run.Outcome; o != nil {
			item.ExitCode, item.Signal = o.Reason.ExitCode, o.Reason.Signal
			item.StdoutBytes, item.StderrBytes = o.Stdout.Bytes, o.Stderr.Bytes
		}
		out.Tasks = append(out.Tasks, item)
	}
	return out, nil
}

// firstWords is what of argv fits into a listing.
func firstWords(argv []string) []string {
	words, room := []string{}, mostShown
	for _, w := range argv {
		if room <= 0 {
			break
		}
		words = append(words, shortened(w, room))
		room -= len(w)
	}
	return words
}
