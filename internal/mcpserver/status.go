package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
)

// progressEvery is how often a waiting call reports, to clients that asked.
const progressEvery = 5 * time.Second

type statusInput struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	WaitMs *int64 `json:"waitMs,omitzero" jsonschema:"wait so long for the task to end; more than 45000 waits 45000"`
}

func (statusInput) bounds(p map[string]*jsonschema.Schema) { atLeast(p["waitMs"], 0) }

func (in statusInput) check() error {
	if in.TaskID == "" {
		return invalid("taskId is missing; want one that run_command_bg returned")
	}
	_, _, err := waitOf(in.WaitMs)
	return err
}

// waitOf returns how long to wait, and a note when that is less than asked.
func waitOf(ms *int64) (time.Duration, string, error) {
	switch {
	case ms == nil:
		return 0, "", nil
	case *ms < 0:
		return 0, "", invalid("waitMs is %d; want 0 to %d", *ms, millis(paddock.MaxWait))
	case *ms > millis(paddock.MaxWait):
		return paddock.MaxWait, fmt.Sprintf("a call waits at most %d ms; ask again to wait on", millis(paddock.MaxWait)), nil
	}
	return time.Duration(*ms) * time.Millisecond, "", nil
}

type statusResult struct {
	TaskID        paddock.RunID  `json:"taskId"`
	Label         string         `json:"label"`
	State         paddock.State  `json:"state" jsonschema:"starting, running, or how it ended: exited, killed, timeout, output-limit, failed-to-start, lost"`
	Settled       bool           `json:"settled" jsonschema:"the task has ended and nothing of this changes any more"`
	ExitCode      *int           `json:"exitCode,omitzero"`
	Signal        string         `json:"signal,omitzero" jsonschema:"the signal that ended the program"`
	Reason        *reason        `json:"reason,omitzero" jsonschema:"why it ended"`
	Error         string         `json:"error,omitzero" jsonschema:"why it ended, in words, unless the program simply exited"`
	StartedAt     *time.Time     `json:"startedAt,omitzero"`
	DurationMs    int64          `json:"durationMs"`
	StdoutBytes   int64          `json:"stdoutBytes"`
	StderrBytes   int64          `json:"stderrBytes"`
	StdoutDropped int64          `json:"stdoutDropped,omitzero" jsonschema:"bytes that came after the limit and were not kept"`
	StderrDropped int64          `json:"stderrDropped,omitzero" jsonschema:"bytes that came after the limit and were not kept"`
	StdoutDigest  paddock.Digest `json:"stdoutDigest,omitzero" jsonschema:"SHA-256 of the whole stream, once settled"`
	StderrDigest  paddock.Digest `json:"stderrDigest,omitzero" jsonschema:"SHA-256 of the whole stream, once settled"`
	TailPreview   string         `json:"tailPreview" jsonschema:"the end of the output, at most 2000 characters"`
	WaitedMs      *int64         `json:"waitedMs,omitzero" jsonschema:"how long this call waited"`
	Note          string         `json:"note,omitzero"`
	counters
}

type reason struct {
	Kind   paddock.ReasonKind `json:"kind"`
	By     string             `json:"by,omitzero" jsonschema:"who asked for the end"`
	Why    string             `json:"why,omitzero"`
	Stream paddock.Stream     `json:"stream,omitzero"`
	Limit  int64              `json:"limit,omitzero" jsonschema:"the limit that was passed: bytes, or milliseconds"`
	Step   string             `json:"step,omitzero" jsonschema:"the step of starting that failed"`
	Detail string             `json:"detail,omitzero"`
}

// status is command_status.
func (s *session) status(ctx context.Context, c call, in statusInput) (statusResult, error) {
	id, err := taskID(in.TaskID)
	if err != nil {
		return statusResult{}, err
	}
	wait, note, err := waitOf(in.WaitMs)
	if err != nil {
		return statusResult{}, err
	}
	began := s.Now()
	run, err := s.await(ctx, c, id, wait)
	if err != nil {
		return statusResult{}, found(id, err)
	}
	out := s.describe(ctx, run)
	if wait > 0 {
		waited := millis(s.Now().Sub(began))
		out.WaitedMs = &waited
		if !out.Settled {
			out.Note = note
		}
	}
	return out, nil
}

// await returns the run when it is settled or wait is over. When the client
// closes its side, waiting ends and the answer is the status at that time.
func (s *session) await(ctx context.Context, c call, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait == 0 {
		return s.App.Status(ctx, s.Principal, id)
	}
	defer s.progress(ctx, c, wait)()
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	run, err := s.App.Wait(waiting, s.Principal, id, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return s.App.Status(ctx, s.Principal, id)
	}
	return run, err
}

// progress reports to a client that gave a token, until the returned function
// is called; after that nothing more is sent.
func (s *session) progress(ctx context.Context, c call, wait time.Duration) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for passed := progressEvery; ; passed += progressEvery {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(millis(passed)), Total: float64(millis(wait)),
				Message: fmt.Sprintf("waiting for %s of at most %s", passed, wait),
			})
			if err != nil {
				s.Log.Debug("reporting progress", "err", err)
				return
			}
		}
	})
	return func() {
		close(done)
		sending.Wait()
	}
}

// describe shows a run with the end of its output.
func (s *session) describe(ctx context.Context, run paddock.Run) statusResult {
	out := statusResult{
		TaskID: run.ID, Label: run.Label, State: run.State, Settled: run.State.Settled(), StartedAt: run.StartedAt,
		DurationMs:  millis(time.Duration(run.Duration)),
		StdoutBytes: run.Stdout.Bytes, StderrBytes: run.Stderr.Bytes, TailPreview: s.tailPreview(ctx, run),
		Error: explain(run), counters: s.counters(ctx),
	}
	if o := run.Outcome; o != nil {
		out.ExitCode, out.Signal = o.Reason.ExitCode, o.Reason.Signal
		out.StdoutBytes, out.StderrBytes = o.Stdout.Bytes, o.Stderr.Bytes
		out.StdoutDropped, out.StderrDropped = o.Stdout.Dropped, o.Stderr.Dropped
		out.StdoutDigest, out.StderrDigest = o.Stdout.Digest, o.Stderr.Digest
		out.Reason = &reason{
			Kind: o.Reason.Kind, By: o.Reason.By, Why: o.Reason.Why, Stream: o.Reason.Stream,
			Limit: o.Reason.Limit, Step: o.Reason.Step, Detail: o.Reason.Detail,
		}
	}
	return out
}

type killInput struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	Signal string `json:"signal,omitzero" jsonschema:"TERM unless given; KILL leaves no time to clean up"`
	Reason string `json:"reason,omitzero" jsonschema:"why, for the record: one line of at most 500 bytes"`
}

var signals = []string{"TERM", "INT", "HUP", "KILL"}

func (killInput) bounds(p map[string]*jsonschema.Schema) { oneOf(p["signal"], signals...) }

func (in killInput) check() error {
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

// kill is command_kill.
func (s *session) kill(ctx context.Context, _ call, in killInput) (statusResult, error) {
	id, err := taskID(in.TaskID)
	if err != nil {
		return statusResult{}, err
	}
	run, err := s.App.Kill(ctx, s.Principal, id, app.KillRequest{Signal: in.Signal, Reason: in.Reason})
	if err != nil {
		return statusResult{}, found(id, err)
	}
	return s.describe(ctx, run), nil
}
