// Package desk is what all commands work at: the world outside, the verbs of the
// house, the words that requests are made of, and the exit statuses. The rooms
// below it have the commands.
//
// # Limits
//
// It judges nothing. A request is made here as it was typed, and whether it may
// be is asked of the verbs.
package desk

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk/logins"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/app"
	"paddock/internal/app/attach"
	"paddock/internal/app/plans"
	"paddock/internal/executor/stages"
	"paddock/internal/git"
	"paddock/internal/lineage"
	"paddock/internal/policy"
)

// Verbs is what the commands ask of the house. *app.App has them; tests have a
// house of paper.
type Verbs interface {
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error
	Attach(ctx context.Context, p paddock.Principal, id paddock.RunID, a attach.Attachment) error
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	KillAll(ctx context.Context, p paddock.Principal, req app.KillRequest) ([]paddock.Run, error)
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
	Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error)
	PolicyText(ctx context.Context, p paddock.Principal, id paddock.RunID) ([]byte, error)
	Diff(ctx context.Context, p paddock.Principal, id paddock.RunID, choice app.Choice) (paddock.Changes, error)
	Apply(ctx context.Context, p paddock.Principal, id paddock.RunID, choice app.Choice) (paddock.Applied, error)
	Discard(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Quarantine(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Quarantine, error)
	Restore(ctx context.Context, p paddock.Principal, id paddock.RunID, paths []string) (paddock.Restored, error)
	Git(ctx context.Context, ask git.Ask) (git.Answer, error)
	Bank(ctx context.Context, p, of paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error)
	Approvals(ctx context.Context, p paddock.Principal) ([]paddock.Approval, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Question(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) ([]byte, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
	plans.All
	Close() error
}

// A Desk is where commands work: everything that they touch and that isn't the
// house, so that a test can be the terminal, the environment and the user.
type Desk struct {
	screen.Screen
	In  io.Reader
	Env func(name string) (value string, ok bool)
	// Dir is the working directory, absolute; empty if it is gone. See [Desk.Here].
	Dir string
	UID int
	// Tools has v serve delegates the tools that they have, as long as it is open; nil
	// serves none.
	Tools func(v Verbs)
	// Signals returns the requests to end that arrive from now on, and what
	// gives them back to their usual meaning.
	Signals func() (<-chan os.Signal, func())
	// Open opens the state directory; whoever got the verbs closes them.
	Open func(ctx context.Context) (Verbs, error)
	// Expect is which run the house is opened for.
	Expect stages.Expectation
	// Judge gives verbs for questions about one policy, over a state directory.
	Judge func(ctx context.Context, state string, p *policy.Policy) (Verbs, error)

	// Levels lists what containment this machine can give, and what the other
	// levels lack; nil means that nobody knows.
	Levels func() ([]paddock.Level, map[paddock.Level]string)

	// Content returns the digest of the file at path and the interpreters that a
	// script leads to, those that it names through env looked for in searchPath.
	Content func(ctx context.Context, path, searchPath string) (paddock.Digest, []paddock.Interpreter, error)

	// Lineage reads what belongs to policies beside their own file.
	Lineage lineage.Reader

	// State, Policy and Server are the flags that every command has.
	State, Policy, Server string
}

// ServerURL is the server that is worked with in place of the state directory here;
// empty means none.
func (d *Desk) ServerURL() string {
	if d.Server != "" {
		return d.Server
	}
	return d.Getenv("PADDOCK_SERVER")
}

// A Login is what lets us in at a server.
type Login = logins.Login

// Logins is where the logins of the user are kept.
func (d *Desk) Logins() logins.Dir {
	if base := d.base("XDG_CONFIG_HOME", ".config"); base != "" {
		return logins.Dir(base + "/logins")
	}
	return ""
}

// Token is what lets us in at the server: that of the environment, or of a login.
func (d *Desk) Token() (string, error) {
	if word := d.Getenv("PADDOCK_TOKEN"); word != "" {
		return word, nil
	}
	l, err := d.Logins().Of(d.ServerURL())
	if err != nil {
		return "", Usage(err.Error(), "paddock logout --forget removes it")
	}
	if l.Token != "" && !l.Expires.After(d.Now()) {
		return "", logins.Over(l)
	}
	return l.Token, nil
}

// Operator is who uses this command: the person of the state directory, who
// sees every run in it.
func (d *Desk) Operator() paddock.Principal {
	return paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=" + strconv.Itoa(d.UID)}
}

// The words of packages screen and logins, for the rooms below.
var (
	Origin    = logins.Origin
	Plain     = screen.Plain
	Quote     = screen.Quote
	QuoteAll  = screen.QuoteAll
	Place     = screen.Place
	Describe  = screen.Describe
	Contained = screen.Contained
	Size      = screen.Size
)
