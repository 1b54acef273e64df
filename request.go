package paddock

import (
	"crypto/sha256"
	"fmt"
)

// A PrincipalKind says what sort of party asks.
type PrincipalKind string

// The kinds of principals.
const (
	Operator PrincipalKind = "operator" // a person at the local command line; sees every run of the state directory
	Agent    PrincipalKind = "agent"    // an AI agent; sees its own runs
	Host     PrincipalKind = "host"     // a program that embeds package runner; sees its own runs
	User     PrincipalKind = "user"     // a person with an account at the HTTP door; sees its own runs
)

// A Principal is who asks. Runs belong to the principal that started them. The
// zero Principal is nobody and is refused.
type Principal struct {
	Kind PrincipalKind `json:"kind"`
	// ID is stable over restarts of whoever asks, and unequal for parties that
	// must not see each other's runs.
	ID string `json:"id"`
}

// A Door is the way by which a request came in.
type Door string

// The doors of this version.
const (
	DoorCLI  Door = "cli"
	DoorMCP  Door = "mcp"
	DoorGo   Door = "go"
	DoorHTTP Door = "http"
)

// A Command is what someone wants run. It is data: nothing in it is ever
// parsed by a shell.
type Command struct {
	// Argv is the program's word and its arguments, each passed as it is.
	Argv []string `json:"argv"`
	// Dir is the working directory, absolute or relative to the first root of
	// the policy; empty means that root.
	Dir string `json:"dir,omitempty"`
	// Workspace, when not empty, is the only root that there is for this command: a
	// directory inside one of the policy's, absolute, whose name no link is part of.
	// It can only narrow. Doors set it for who owns it.
	Workspace string `json:"workspace,omitempty"`
	// Env holds the variables that the caller asks for. Each must be named by
	// the policy's environment.accept; nil asks for none.
	Env map[string]string `json:"env,omitempty"`
	// ReplaceEnv, when not nil, is the program's whole environment: nothing of
	// the policy's is merged in. Only package runner's host program can set it.
	ReplaceEnv map[string]string `json:"replace_env,omitzero"`
	// Stdin is what the program reads; the zero value is an empty stream.
	Stdin Stdin `json:"stdin,omitzero"`
	// Terminal gives the program a terminal of its own, of that size, in the place of
	// pipes; nil gives none. It needs `pty: true` of the executable, and no Stdin.
	Terminal *TerminalSize `json:"terminal,omitempty"`
	// Timeout ends the run; zero means the policy's. It can only lower.
	Timeout Duration `json:"timeout_ms,omitempty"`
	// Idle ends the run after that much silence; zero means the policy's. It can
	// only lower.
	Idle Duration `json:"idle_ms,omitempty"`
	// OutputLimit is the most bytes kept per stream; zero means the policy's.
	// It can only lower.
	OutputLimit int64 `json:"output_limit,omitempty"`
	// DiskLimit is the most bytes written to disks; zero means the policy's. It
	// can only lower.
	DiskLimit int64 `json:"disk_limit,omitempty"`
	// Label is for people: at most 200 bytes of one line; empty means the
	// first words of Argv.
	Label string `json:"label,omitempty"`
}

// Stdin says what a program reads on its standard input. At most one of the
// fields is set; none means that the first read finds the end.
type Stdin struct {
	// Text is given as it is; at most 1 MiB. A pointer, so that "" is a choice.
	Text *string `json:"text,omitempty"`
	// File is a regular file inside a root, absolute or relative to Dir.
	File string `json:"file,omitempty"`
	// Run is a settled run of the same principal whose kept output is fed in.
	Run RunID `json:"run,omitempty"`
	// Stream of Run: stdout (the default) or stderr.
	Stream Stream `json:"stream,omitempty"`
}

// IsZero reports whether the program reads an empty stream.
func (s Stdin) IsZero() bool { return s == Stdin{} }

// MostCells is the most rows, and the most columns, of a terminal.
const MostCells = 1000

// A TerminalSize is how large a terminal is, in characters. Each is from 1 to MostCells.
type TerminalSize struct {
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
}

// Valid reports whether a terminal can be of this size.
func (s TerminalSize) Valid() bool {
	return s.Rows >= 1 && s.Rows <= MostCells && s.Columns >= 1 && s.Columns <= MostCells
}

// MostTyped is how many bytes are typed at once at most.
const MostTyped = 16 << 10

// A Typing is what an attachment asks of a run's terminal. All of it is done, or nothing.
type Typing struct {
	// Hand names the attachment: whoever has it is the same as before.
	Hand string `json:"hand"`
	// Take has this attachment type from now on, and no other until that takes it.
	Take bool `json:"take,omitempty"`
	// Number counts what one attachment asks, from 1; what was done isn't done again. Zero
	// counts nothing.
	Number int64 `json:"number,omitempty"`
	// By is the id of the principal who types; doors leave it empty.
	By string `json:"by,omitempty"`
	// Size is what the terminal is to be, and Input what is typed.
	Size  *TerminalSize `json:"size,omitempty"`
	Input []byte        `json:"input,omitempty"`
}

// Wrong says what can't be asked; "" if nothing is.
func (t Typing) Wrong() string {
	switch {
	case t.Hand == "" || len(t.Hand) > 64 || len(t.By) > MaxPrincipal:
		return "An attachment is named by 1 to 64 bytes."
	case t.Number < 0:
		return "What is typed is counted from 1."
	case t.Size != nil && !t.Size.Valid():
		return fmt.Sprintf("A terminal has from 1 to %d rows and columns.", MostCells)
	case len(t.Input) > MostTyped:
		return fmt.Sprintf("%d bytes are typed at once; %d may be.", len(t.Input), MostTyped)
	}
	return ""
}

// A Request is a Command as it is judged: who asks, for what, and how it came.
type Request struct {
	Principal Principal `json:"principal"`
	Door      Door      `json:"door"`
	Command   Command   `json:"command"`
	// Room is the customer of the executor that asks for somebody, as "git": the
	// section of the policy of that name judges the command, and nothing else of
	// it does. Empty is the caller's own command. Doors leave it empty.
	Room string `json:"room,omitempty"`
	// Tied runs end, with reason "caller gone", when whoever asked is gone.
	Tied bool `json:"tied,omitempty"`
	// IdempotencyKey makes asking again return the run of the first time. At
	// most 200 bytes; empty means that each request is a new run.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Digest identifies what was asked, for idempotency, approvals and signatures:
// the principal, the command and the room, not the door, the key or the tie. It is the
// SHA-256 of the JSON encoding of them (maps sorted by key, as encoding/json
// does), prefixed with a version line.
func (r Request) Digest() Digest {
	var room [1 << 10]byte
	return DigestOf(sha256.Sum256(r.appendJSON(append(room[:0], "paddock request v1\n"...))))
}

// EnvironmentNames returns the names that the caller asks for, for records:
// values are never written down.
func (c Command) EnvironmentNames() []string {
	m := c.Env
	if c.ReplaceEnv != nil {
		m = c.ReplaceEnv
	}
	return sortedKeys(m)
}
