package mcpserver

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

type startInput struct {
	Argv           []string          `json:"argv" jsonschema:"the program's word and its arguments, one entry per word; no shell"`
	Cwd            string            `json:"cwd,omitzero" jsonschema:"working directory inside a root; absolute or relative to the first root, which is the default"`
	TimeoutMs      *int64            `json:"timeoutMs,omitzero" jsonschema:"end the task after so many milliseconds; can only lower the policy's limit"`
	Label          string            `json:"label,omitzero" jsonschema:"a name for people"`
	Stdin          *stdinInput       `json:"stdin,omitzero" jsonschema:"what the program reads; nothing unless given. One of text, file, taskId"`
	Env            map[string]string `json:"env,omitzero" jsonschema:"environment variables; only names that the policy accepts"`
	OutputLimit    *int64            `json:"outputLimit,omitzero" jsonschema:"most bytes kept per stream; can only lower the policy's limit"`
	IdempotencyKey string            `json:"idempotencyKey,omitzero" jsonschema:"the same key with the same request returns the same task and starts nothing new"`
}

type stdinInput struct {
	Text   *string `json:"text,omitzero" jsonschema:"given as it is"`
	File   string  `json:"file,omitzero" jsonschema:"a file inside a root, absolute or relative to cwd"`
	TaskID string  `json:"taskId,omitzero" jsonschema:"an ended task of yours whose output is read"`
	Stream string  `json:"stream,omitzero" jsonschema:"which output of taskId: stdout unless given"`
}

// mostMillis is the longest time that can be counted.
const mostMillis = int64(math.MaxInt64) / int64(time.Millisecond)

func (startInput) bounds(p map[string]*jsonschema.Schema) {
	one := 1
	p["argv"].MinItems = &one
	atLeast(p["timeoutMs"], 1)
	atLeast(p["outputLimit"], 1)
	oneOf(p["stdin"].Properties["stream"], paddock.Stdout, paddock.Stderr)
}

func (in startInput) check() error {
	if in.Argv == nil {
		return invalid(`argv is missing; want an array of strings, one per word, as ["go","test","./..."]`)
	}
	if t := in.TimeoutMs; t != nil && (*t < 1 || *t > mostMillis) {
		return invalid("timeoutMs is %d; want 1 to %d", *t, mostMillis)
	}
	if n := in.OutputLimit; n != nil && *n < 1 {
		return invalid("outputLimit is %d; want at least 1", *n)
	}
	texts := map[string]string{"cwd": in.Cwd, "label": in.Label, "idempotencyKey": in.IdempotencyKey}
	for name, value := range in.Env {
		texts["a name in env"], texts["env."+name] = name, value
	}
	if in.Stdin != nil {
		texts["stdin.file"] = in.Stdin.File
	}
	if err := noNUL(texts); err != nil {
		return err
	}
	return in.Stdin.check()
}

// noNUL refuses NUL where no meaning of it could be right. In argv it is the
// policy's to refuse, with a code of its own.
func noNUL(texts map[string]string) error {
	for name, text := range texts {
		if strings.ContainsRune(text, 0) {
			return invalid("%s contains a NUL character", shortened(strings.ReplaceAll(name, "\x00", "␀"), 64))
		}
	}
	return nil
}

func (in *stdinInput) check() error {
	if in == nil {
		return nil
	}
	given := 0
	for _, is := range []bool{in.Text != nil, in.File != "", in.TaskID != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return invalid("stdin has %d of text, file and taskId; want exactly one", given)
	}
	switch paddock.Stream(in.Stream) {
	case "":
	case paddock.Stdout, paddock.Stderr:
		if in.TaskID == "" {
			return invalid("stdin.stream goes with stdin.taskId only")
		}
	default:
		return invalid("stdin.stream is %q; want stdout or stderr", shortened(in.Stream, 64))
	}
	return nil
}

type startResult struct {
	TaskID    paddock.RunID `json:"taskId" jsonschema:"names the task in the other tools"`
	Label     string        `json:"label"`
	Argv      []string      `json:"argv"`
	Cwd       string        `json:"cwd"`
	State     paddock.State `json:"state"`
	StartedAt *time.Time    `json:"startedAt,omitzero"`
	Error     string        `json:"error,omitzero" jsonschema:"why the program could not be started"`
	counters
}

// counters are beside every result, so that a model notices ended tasks.
type counters struct {
	Running  *int `json:"running,omitzero" jsonschema:"your tasks that have not ended"`
	Finished *int `json:"finished,omitzero" jsonschema:"your tasks that have ended and whose status you have not read"`
}

// start is run_command_bg. Once the verb is asked, the client's patience has no
// say: a run that is started must be recorded and known, not half made.
func (s *session) start(ctx context.Context, _ call, in startInput) (startResult, error) {
	if err := ctx.Err(); err != nil {
		return startResult{}, err
	}
	req, err := s.request(in)
	if err != nil {
		return startResult{}, err
	}
	ctx = context.WithoutCancel(ctx)
	run, err := s.App.Start(ctx, req)
	if err != nil {
		return startResult{}, err
	}
	s.remember(run)
	return startResult{
		TaskID: run.ID, Label: run.Label, Argv: run.Argv, Cwd: run.Dir, State: run.State,
		StartedAt: run.StartedAt, Error: explain(run), counters: s.counters(ctx),
	}, nil
}

func (s *session) request(in startInput) (paddock.Request, error) {
	cmd := paddock.Command{Argv: in.Argv, Dir: in.Cwd, Env: in.Env, Label: in.Label}
	if in.TimeoutMs != nil {
		cmd.Timeout = paddock.Duration(*in.TimeoutMs * int64(time.Millisecond))
	}
	if in.OutputLimit != nil {
		cmd.OutputLimit = *in.OutputLimit
	}
	if in.Stdin != nil {
		cmd.Stdin = paddock.Stdin{Text: in.Stdin.Text, File: in.Stdin.File, Stream: paddock.Stream(in.Stdin.Stream)}
		if in.Stdin.TaskID != "" {
			id, err := taskID(in.Stdin.TaskID)
			if err != nil {
				return paddock.Request{}, err
			}
			cmd.Stdin.Run = id
		}
	}
	return paddock.Request{
		Principal: s.Principal, Door: paddock.DoorMCP, Command: cmd, IdempotencyKey: in.IdempotencyKey,
	}, nil
}

// counters never fails a call: a task whose id got lost for want of a number
// would be a bad trade. Without numbers the fields are left out.
func (s *session) counters(ctx context.Context) counters {
	c, err := s.App.Counters(ctx, s.Principal)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Error("counting runs", "err", err)
		}
		return counters{}
	}
	return counters{&c.Running, &c.Finished}
}

// taskID parses an id. What isn't one looks like an id that is unknown.
func taskID(s string) (paddock.RunID, error) {
	id, err := paddock.ParseRunID(s)
	if err != nil {
		return "", noTask(s)
	}
	return id, nil
}

// noTask is the one answer for ids that are malformed, unknown or another's.
func noTask(id string) *paddock.Refusal {
	r := paddock.Refused(paddock.NotFound, "there is no task %q, or it isn't yours", shortened(id, 64))
	r.Hint = "Use a taskId that run_command_bg returned; command_list shows yours."
	return r
}

// found makes every NotFound of a verb on one task look the same.
func found(id paddock.RunID, err error) error {
	if r, ok := err.(*paddock.Refusal); ok && r.Code == paddock.NotFound {
		return noTask(string(id))
	}
	return err
}

// explain says in words why a run ended, unless its program simply exited.
func explain(run paddock.Run) string {
	if run.Outcome == nil {
		return ""
	}
	r := run.Outcome.Reason
	switch r.Kind {
	case paddock.ReasonExit:
		return ""
	case paddock.ReasonSignal:
		return fmt.Sprintf("ended by %s, which Paddock did not send", r.Signal)
	case paddock.ReasonKill:
		return joined("ended on request", r.Why)
	case paddock.ReasonAbort:
		return "ended because the program that asked for it gave up"
	case paddock.ReasonShutdown:
		return joined("ended because its owner shut down", r.Why)
	case paddock.ReasonCallerGone:
		return "ended because whoever it was tied to is gone"
	case paddock.ReasonTimeout:
		return fmt.Sprintf("ended because its time was over: %s", time.Duration(r.Limit)*time.Millisecond)
	case paddock.ReasonOutputLimit:
		return fmt.Sprintf("ended because %s passed its limit of %d bytes; everything up to there is kept", r.Stream, r.Limit)
	case paddock.ReasonSink:
		return joined("ended because its output could not be kept", r.Detail)
	case paddock.ReasonStart:
		return joined(fmt.Sprintf("could not be started (%s)", r.Step), r.Detail)
	case paddock.ReasonLost, paddock.ReasonHost:
		text := "its supervisor vanished without writing how it ended"
		if r.Kind == paddock.ReasonHost {
			text = "the machine restarted while it ran"
		}
		if r.Evidence != nil {
			text = joined(text, r.Evidence.Note)
		}
		return text
	}
	return joined(string(r.Kind), r.Detail)
}

func joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + more
}
