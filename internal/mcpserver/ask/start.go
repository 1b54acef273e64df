package ask

import (
	"math"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

// Start is the input of run_command_bg.
type Start struct {
	Argv           []string          `json:"argv" jsonschema:"the program's word and its arguments, one entry per word; no shell"`
	Cwd            string            `json:"cwd,omitzero" jsonschema:"working directory inside a root; absolute or relative to the first root, which is the default"`
	Workspace      string            `json:"workspace,omitzero" jsonschema:"name of the workspace to run in, which is the only root then; a directory that a clone made in it follows after a slash"`
	TimeoutMs      *int64            `json:"timeoutMs,omitzero" jsonschema:"end the task after so many milliseconds; can only lower the policy's limit"`
	IdleMs         *int64            `json:"idleMs,omitzero" jsonschema:"end the task when it prints nothing for so many milliseconds; can only lower the policy's limit"`
	Label          string            `json:"label,omitzero" jsonschema:"a name for people"`
	Stdin          *Stdin            `json:"stdin,omitzero" jsonschema:"what the program reads; nothing unless given. One of text, file, taskId"`
	Env            map[string]string `json:"env,omitzero" jsonschema:"environment variables; only names that the policy accepts"`
	OutputLimit    *int64            `json:"outputLimit,omitzero" jsonschema:"most bytes kept per stream; can only lower the policy's limit"`
	DiskLimit      *int64            `json:"diskLimit,omitzero" jsonschema:"most bytes written to disks; can only lower the policy's limit"`
	IdempotencyKey string            `json:"idempotencyKey,omitzero" jsonschema:"the same key with the same request returns the same task and starts nothing new"`
}

// Stdin says what the program reads: one of Text, File and TaskID.
type Stdin struct {
	Text   *string `json:"text,omitzero" jsonschema:"given as it is"`
	File   string  `json:"file,omitzero" jsonschema:"a file inside a root, absolute or relative to cwd"`
	TaskID string  `json:"taskId,omitzero" jsonschema:"an ended task of yours whose output is read"`
	Stream string  `json:"stream,omitzero" jsonschema:"which output of taskId: stdout unless given"`
}

// NoWorkspaces refuses the name of one where there are none.
func NoWorkspaces() *paddock.Refusal {
	r := paddock.Refused(paddock.NotFound, "there are no workspaces here")
	r.Hint = "Leave workspace out; cwd says where the program runs."
	return r
}

// mostMillis is the longest time that can be counted.
const mostMillis = int64(math.MaxInt64) / int64(time.Millisecond)

func (Start) Bounds(p map[string]*jsonschema.Schema) {
	one := 1
	p["argv"].MinItems = &one
	atLeast(p["timeoutMs"], 1)
	atLeast(p["idleMs"], 1)
	atLeast(p["outputLimit"], 1)
	atLeast(p["diskLimit"], 1)
	oneOf(p["stdin"].Properties["stream"], paddock.Stdout, paddock.Stderr)
}

func (in Start) Check() error {
	if in.Argv == nil {
		return invalid(`argv is missing; want an array of strings, one per word, as ["go","test","./..."]`)
	}
	if t := in.TimeoutMs; t != nil && (*t < 1 || *t > mostMillis) {
		return invalid("timeoutMs is %d; want 1 to %d", *t, mostMillis)
	}
	if t := in.IdleMs; t != nil && (*t < 1 || *t > mostMillis) {
		return invalid("idleMs is %d; want 1 to %d", *t, mostMillis)
	}
	if n := in.OutputLimit; n != nil && *n < 1 {
		return invalid("outputLimit is %d; want at least 1", *n)
	}
	if n := in.DiskLimit; n != nil && *n < 1 {
		return invalid("diskLimit is %d; want at least 1", *n)
	}
	texts := map[string]string{"workspace": in.Workspace, "cwd": in.Cwd, "label": in.Label, "idempotencyKey": in.IdempotencyKey}
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

func (in *Stdin) check() error {
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

// Command returns the command that is asked for.
func (in Start) Command() (paddock.Command, error) {
	cmd := paddock.Command{Argv: in.Argv, Dir: in.Cwd, Env: in.Env, Label: in.Label, OutputLimit: orZero(in.OutputLimit), DiskLimit: orZero(in.DiskLimit)}
	cmd.Timeout = paddock.Duration(orZero(in.TimeoutMs) * int64(time.Millisecond))
	cmd.Idle = paddock.Duration(orZero(in.IdleMs) * int64(time.Millisecond))
	if in.Stdin != nil {
		cmd.Stdin = paddock.Stdin{Text: in.Stdin.Text, File: in.Stdin.File, Stream: paddock.Stream(in.Stdin.Stream)}
		if in.Stdin.TaskID != "" {
			id, err := TaskID(in.Stdin.TaskID)
			if err != nil {
				return paddock.Command{}, err
			}
			cmd.Stdin.Run = id
		}
	}
	return cmd, nil
}
