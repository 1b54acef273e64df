package answer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app"
)

// Started is the result of run_command_bg.
type Started struct {
	TaskID    paddock.RunID `json:"taskId" jsonschema:"names the task in the other tools"`
	Label     string        `json:"label"`
	Argv      []string      `json:"argv"`
	Cwd       string        `json:"cwd"`
	State     paddock.State `json:"state"`
	StartedAt *time.Time    `json:"startedAt,omitzero"`
	Approval  string        `json:"approval,omitzero" jsonschema:"what a person must approve, or has approved, before the program starts"`
	Error     string        `json:"error,omitzero" jsonschema:"why the program could not be started"`
	// What follows is told to clients that waited for the end, as the tasks extension has them.
	ExitCode    *int   `json:"exitCode,omitzero" jsonschema:"where the client waited for the end"`
	TailPreview string `json:"tailPreview,omitzero" jsonschema:"the end of the output, where the client waited for that"`
	Note        string `json:"note,omitzero"`
	Counters
}

// Counters are beside every result, so that a model notices ended tasks.
type Counters struct {
	Running  *int `json:"running,omitzero" jsonschema:"your tasks that have not ended"`
	Finished *int `json:"finished,omitzero" jsonschema:"your tasks that have ended and whose status you have not read"`
	// PolicyNotice is here since it concerns whatever is asked next.
	PolicyNotice string `json:"policyNotice,omitzero" jsonschema:"what is wrong with the policy; tell the operator"`
}

// NewStarted shows a run that was asked for.
func NewStarted(run paddock.Run, c Counters) Started {
	return Started{
		TaskID: run.ID, Label: run.Label, Argv: run.Argv, Cwd: run.Dir, State: run.State,
		StartedAt: run.StartedAt, Approval: string(run.Approval), Error: Explain(run), Note: waits(run), Counters: c,
	}
}

// waits says what to do about a run that waits for approval.
func waits(run paddock.Run) string {
	if run.State != paddock.Waiting {
		return ""
	}
	return "A person must approve this before it starts: tell them to look at `paddock approve show " + string(run.Approval) + "`. Wait with command_status, or take it back with command_kill; do nothing else to get round it."
}

// Status is the result of command_status and command_kill.
type Status struct {
	TaskID        paddock.RunID  `json:"taskId"`
	Label         string         `json:"label"`
	State         paddock.State  `json:"state" jsonschema:"waiting (for a person's approval), queued (until a worker has room), starting, running, unreachable (its machine is silent; it may be running again), or how it ended: exited, killed, timeout, output-limit, failed-to-start, lost, refused (not approved); or banked, which no program made"`
	Settled       bool           `json:"settled" jsonschema:"the task has ended and nothing of this changes any more"`
	ExitCode      *int           `json:"exitCode,omitzero"`
	Signal        string         `json:"signal,omitzero" jsonschema:"the signal that ended the program"`
	Reason        *Reason        `json:"reason,omitzero" jsonschema:"why it ended"`
	Error         string         `json:"error,omitzero" jsonschema:"why it ended, in words, unless the program simply exited"`
	Addenda       []Addendum     `json:"addenda,omitzero" jsonschema:"what became known of the end of a lost task later; its state stays"`
	StartedAt     *time.Time     `json:"startedAt,omitzero"`
	Approval      string         `json:"approval,omitzero" jsonschema:"what a person must approve, or has approved"`
	DurationMs    int64          `json:"durationMs"`
	SilentMs      int64          `json:"silentMs,omitzero" jsonschema:"how long a running task has printed nothing"`
	Asks          bool           `json:"asks,omitzero" jsonschema:"it is silent after a line that looks like a question; nobody answers a task, so kill it and give it its input at the start"`
	StdoutBytes   int64          `json:"stdoutBytes"`
	StderrBytes   int64          `json:"stderrBytes"`
	StdoutDropped int64          `json:"stdoutDropped,omitzero" jsonschema:"bytes that came after the limit and were not kept"`
	StderrDropped int64          `json:"stderrDropped,omitzero" jsonschema:"bytes that came after the limit and were not kept"`
	Losses        []Loss         `json:"losses,omitzero" jsonschema:"what was dropped of each stream, from where on and when"`
	StdoutDigest  paddock.Digest `json:"stdoutDigest,omitzero" jsonschema:"SHA-256 of all that is kept of the stream, once settled"`
	StderrDigest  paddock.Digest `json:"stderrDigest,omitzero" jsonschema:"SHA-256 of all that is kept of the stream, once settled"`
	Denied        []string       `json:"denied,omitzero" jsonschema:"what the kernel refused the program, most often first, and what to do about it"`
	Found         []string       `json:"found,omitzero" jsonschema:"places that other tools would execute or obey and that appeared or changed in the workspace meanwhile; those that appeared were moved away unless it says otherwise"`
	TailPreview   string         `json:"tailPreview" jsonschema:"the end of the output, at most 2000 characters, as view clean shows it"`
	WaitedMs      *int64         `json:"waitedMs,omitzero" jsonschema:"how long this call waited"`
	Note          string         `json:"note,omitzero"`
	Counters
}

// A Reason is why a run ended.
type Reason struct {
	Kind   paddock.ReasonKind `json:"kind"`
	By     string             `json:"by,omitzero" jsonschema:"who asked for the end"`
	Why    string             `json:"why,omitzero"`
	Stream paddock.Stream     `json:"stream,omitzero"`
	Limit  int64              `json:"limit,omitzero" jsonschema:"the limit that was passed: bytes, or milliseconds"`
	Step   string             `json:"step,omitzero" jsonschema:"the step of starting that failed"`
	Detail string             `json:"detail,omitzero"`
}

// An Addendum is how a lost run ended, by evidence that came later.
type Addendum struct {
	At       time.Time              `json:"at"`
	Source   paddock.AddendumSource `json:"source" jsonschema:"supervisor: it came back; leftover: it had written this and not put it in place"`
	State    paddock.State          `json:"state"`
	Reason   paddock.ReasonKind     `json:"reason"`
	ExitCode *int                   `json:"exitCode,omitzero"`
	Signal   string                 `json:"signal,omitzero"`
}

// mostDenied bounds what is told of refused calls; the record has all.
const mostDenied = 8

// NewStatus shows a run with the end of its output.
func NewStatus(run paddock.Run, tail string, c Counters) Status {
	out := Status{
		TaskID: run.ID, Label: run.Label, State: run.State, Settled: run.State.Settled(), StartedAt: run.StartedAt,
		DurationMs:  time.Duration(run.Duration).Milliseconds(),
		SilentMs:    time.Duration(run.Silent).Milliseconds(),
		Asks:        run.Asks,
		StdoutBytes: run.Stdout.Bytes, StderrBytes: run.Stderr.Bytes, TailPreview: tail,
		StdoutDropped: run.Stdout.Dropped, StderrDropped: run.Stderr.Dropped, Losses: losses(run.Losses()),
		Approval: string(run.Approval), Error: Explain(run), Note: waits(run), Counters: c,
	}
	for _, a := range run.Addenda {
		r := a.Outcome.Reason
		out.Addenda = append(out.Addenda, Addendum{a.At, a.Source, a.Outcome.State, r.Kind, r.ExitCode, r.Signal})
	}
	if o := run.Outcome; o != nil {
		out.ExitCode, out.Signal = o.Reason.ExitCode, o.Reason.Signal
		out.StdoutBytes, out.StderrBytes = o.Stdout.Bytes, o.Stderr.Bytes
		out.StdoutDropped, out.StderrDropped = o.Stdout.Dropped, o.Stderr.Dropped
		out.StdoutDigest, out.StderrDigest = o.Stdout.Digest, o.Stderr.Digest
		for _, d := range o.Denied[:min(len(o.Denied), mostDenied)] {
			out.Denied = append(out.Denied, d.Text)
		}
		out.Found = found(o.Deeper)
		out.Reason = &Reason{
			Kind: o.Reason.Kind, By: o.Reason.By, Why: o.Reason.Why, Stream: o.Reason.Stream,
			Limit: o.Reason.Limit, Step: o.Reason.Step, Detail: o.Reason.Detail,
		}
	}
	return out
}

// mostFound bounds what is told of places that were found; the record has more.
const mostFound = 20

// found says of each place what became of it.
func found(d *paddock.Deeper) []string {
	if d == nil {
		return nil
	}
	var out []string
	for _, f := range d.Found[:min(len(d.Found), mostFound)] {
		text := strconv.Quote(shortened(f.Path, mostShown)) + " " + string(f.Change) // a program chose the name
		if f.Quarantined {
			text += " and was moved away; the operator can restore it"
		} else if f.Why != "" {
			text += " and is still there: " + shortened(f.Why, mostShown)
		}
		out = append(out, text)
	}
	if more := len(d.Found) - len(out) + d.More; more > 0 {
		out = append(out, fmt.Sprintf("and %d others", more))
	}
	if d.Unlooked != "" {
		out = append(out, "not looked at: "+shortened(d.Unlooked, mostShown))
	}
	return out
}

// A Listing is the result of command_list.
type Listing struct {
	Tasks []Task        `json:"tasks" jsonschema:"newest first"`
	Next  paddock.RunID `json:"next,omitzero" jsonschema:"the before of the next answer; not there on the last"`
	Counters
}

// A Task is one run of a listing.
type Task struct {
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

// NewListing shows a page of runs.
func NewListing(l app.Listing, c Counters) Listing {
	out := Listing{Tasks: []Task{}, Next: l.Next, Counters: c}
	for _, run := range l.Runs {
		t := Task{
			TaskID: run.ID, Label: run.Label, Argv: firstWords(run.Argv), Words: len(run.Argv), Cwd: run.Dir,
			State: run.State, Settled: run.State.Settled(), CreatedAt: run.CreatedAt,
			DurationMs:  time.Duration(run.Duration).Milliseconds(),
			StdoutBytes: run.Stdout.Bytes, StderrBytes: run.Stderr.Bytes,
		}
		if o := run.Outcome; o != nil {
			t.ExitCode, t.Signal = o.Reason.ExitCode, o.Reason.Signal
			t.StdoutBytes, t.StderrBytes = o.Stdout.Bytes, o.Stderr.Bytes
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out
}

// mostShown is the bytes of argv that a listing shows of each run: it is for
// finding a task again, not for moving its arguments.
const mostShown = 500

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

func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
