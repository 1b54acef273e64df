package main

import (
	"context"
	"io"
	"os"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/policy"
)

// verbs is what the commands ask of the house. *app.App has them; tests have a
// house of paper.
type verbs interface {
	Explain(ctx context.Context, req paddock.Request) paddock.Decision
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	KillAll(ctx context.Context, p paddock.Principal, req app.KillRequest) ([]paddock.Run, error)
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
	Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error)
	Close() error
}

// outside is everything that a command touches and that isn't the house: so
// that a test can be the terminal, the environment and the user.
type outside struct {
	in       io.Reader
	out, err io.Writer
	// terminal and errTerminal say that out and err are looked at by a person.
	terminal, errTerminal bool
	env                   func(name string) (value string, ok bool)
	// dir is the working directory, absolute.
	dir string
	uid int
	now func() time.Time
	// signals returns the requests to end that arrive from now on, and what
	// gives them back to their usual meaning.
	signals func() (<-chan os.Signal, func())
	// open opens the state directory; whoever got the verbs closes them.
	open func(ctx context.Context, s settings) (verbs, error)
	// judge opens it for questions about one policy.
	judge func(ctx context.Context, s settings, p *policy.Policy) (verbs, error)
}

// settings are the flags that every command has.
type settings struct {
	state  string
	policy string
	json   bool
}

func (o *outside) getenv(name string) string {
	value, _ := o.env(name)
	return value
}

// operator is who uses this command: the person of the state directory, who
// sees every run in it.
func (o *outside) operator() paddock.Principal {
	return paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=" + itoa(o.uid)}
}
