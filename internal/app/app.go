// Package app has one method per verb. It is the only place that asks whether a
// principal may do a thing: every door goes through it and none round it.
//
// # Limits
//
// App holds no state of its own, parses no wire format and prints nothing.
package app

import (
	"context"
	"io"
	"time"

	"paddock"
)

// An App serves the verbs. Its methods may be called concurrently. Every error
// that a caller is meant to understand is a [*paddock.Refusal]; any other is a
// fault of ours or of the machine.
type App struct{}

// Explain judges req as Start would, changes nothing, and can't fail.
func (a *App) Explain(ctx context.Context, req paddock.Request) paddock.Decision { panic("unbuilt") }

// Start judges req and, when it is granted, returns its run once the program
// has become the program or has failed to. A program that could not be started
// is a settled run, not an error. Asking again with the same idempotency key
// returns the same run.
func (a *App) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) { panic("unbuilt") }

// Status returns the run as of now. Runs of others look like unknown ones.
// Reading a settled run's status takes it out of the finished counter.
func (a *App) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	panic("unbuilt")
}

// Wait returns when the run is settled, or its status then when wait is over
// first (any length) or ctx ends (with ctx's error). Zero wait waits for ever.
func (a *App) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	panic("unbuilt")
}

// Output returns one page. With req.Wait it waits that long (at most
// paddock.MaxWait) for something to be there at the offset.
func (a *App) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	panic("unbuilt")
}

// Follow writes the bytes of one stream, or of both in order of arrival, from
// offset to w, and goes on until the run is settled and everything is written.
func (a *App) Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error {
	panic("unbuilt")
}

// A KillRequest says how to end a run and why.
type KillRequest struct {
	// Signal is TERM (the zero value's meaning), INT, HUP or KILL. All but KILL
	// are followed by KILL after the grace period.
	Signal string `json:"signal,omitempty"`
	// Reason is for the record: one line of at most 500 bytes.
	Reason string `json:"reason,omitempty"`
	// NoWait returns at once instead of when the run is settled (bounded by
	// the grace period and a second).
	NoWait bool `json:"no_wait,omitempty"`
}

// Kill ends the run and returns its record. A settled run comes back unchanged.
func (a *App) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req KillRequest) (paddock.Run, error) {
	panic("unbuilt")
}

// KillAll ends every run that p may see and that isn't settled, at once.
func (a *App) KillAll(ctx context.Context, p paddock.Principal, req KillRequest) ([]paddock.Run, error) {
	panic("unbuilt")
}

// A Filter narrows a listing. The zero Filter lists the newest 50 runs.
type Filter struct {
	Active bool          `json:"active,omitempty"` // only runs that aren't settled
	Limit  int           `json:"limit,omitempty"`  // at most 1,000; zero means 50
	Before paddock.RunID `json:"before,omitempty"` // only runs made before this one
	Label  string        `json:"label,omitempty"`  // only runs with exactly this label
}

// A Listing is a page of runs, newest first.
type Listing struct {
	Runs []paddock.Run `json:"runs"`
	// Next is the Before of the next page; empty when this is the last.
	Next paddock.RunID `json:"next,omitempty"`
}

// List returns runs that p may see, newest first.
func (a *App) List(ctx context.Context, p paddock.Principal, f Filter) (Listing, error) {
	panic("unbuilt")
}

// Counters are what an agent is told beside every result.
type Counters struct {
	Running  int `json:"running"`  // not settled
	Finished int `json:"finished"` // settled, and its end not read yet
}

// Counters counts p's own runs.
func (a *App) Counters(ctx context.Context, p paddock.Principal) (Counters, error) { panic("unbuilt") }

// Close lets go of the state directory. Runs go on.
func (a *App) Close() error { panic("unbuilt") }
