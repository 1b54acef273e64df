// Package dispatch is the front door's side of the queue: what is asked for is judged,
// signed and queued, and what is known of a run is read from its directory where that is
// here, from its row where it isn't, and from the worker that has it where one can.
//
// # Limits
//
// It starts nothing: workers do, by what was signed and by their own policies. A row
// gives nobody authority; it says what is known.
package dispatch

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch/answers"
	"paddock/internal/dispatch/ballots"
	"paddock/internal/dispatch/copies"
	"paddock/internal/dispatch/machine/shift"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/rows"
	"paddock/internal/journal/sign"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// Times of those who wait. Hints wake them earlier.
const (
	tick = 250 * time.Millisecond
	// begin is how long Start waits at most for the program to begin.
	begin = 10 * time.Second
	// ending is how long Kill waits for the end of a run of another machine.
	ending = 7 * time.Second
)

// A House has the runs of one machine. *app.App is one.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	ballots.House
	Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error
}

// Elsewhere reaches the runs of other workers.
type Elsewhere interface {
	// At is the house of a worker that can be reached now, or nil.
	At(worker store.WorkerID) House
	// Workers are those that can be.
	Workers() []store.WorkerID
}

// Config says what a Front works with. Elsewhere may be nil, and Worker empty.
type Config struct {
	App  *app.App
	Runs rows.Rows
	// Key signs orders.
	Key *sign.Key
	// Worker is the one of this process; empty where it only queues. Then it judges
	// nothing either: its policy isn't that of those who carry out.
	Worker    store.WorkerID
	Elsewhere Elsewhere
	// Shared says that other machines see the same rows: then what they say of how a run
	// came out counts.
	Shared bool
	// Queued is rung when something was queued, Changed when somebody asked for the end
	// of a run, and Told rings when something may have become of one.
	Queued, Changed, Told *hint.Bell
	// Looked is rung when the worker of this process has looked at the queue.
	Looked *hint.Bell
	// Own is that worker, to which runs are offered first; nil where it isn't to be.
	Own *shift.Own
	// Spaces are roots in which workspaces are.
	Spaces []string
	Now    func() time.Time
	Warn   func(error) // is told of what isn't copied; nil is nobody
	// Traces is told how long things took; nil isn't.
	Traces *trace.Tracer
}

// A Front has the verbs of the house for a door: those about runs ask the queue, too.
type Front struct {
	*app.App
	cfg    Config
	copies *copies.Keeper
	// As the constants are; tests have less time.
	begin, ending time.Duration
}

// New returns a Front.
func New(c Config) *Front {
	return &Front{App: c.App, cfg: c, begin: begin, ending: ending, copies: copies.New(c.Runs, c.Key, c.Warn)}
}

// A place is where a run was found: in the house here, with its row otherwise.
type place struct {
	house House
	row   *store.Run
	run   paddock.Run
}

// find looks for a run that p may see. The directory here comes first, but for what was given up.
func (f *Front) find(ctx context.Context, p paddock.Principal, id paddock.RunID) (place, error) {
	at, err := f.at(ctx, p, id)
	if err == nil && at.row == nil {
		at.run, err = f.ours(ctx, id, at.run)
	}
	return at, err
}

// at is find for who wants to know where a run is: of one that is here no row is asked.
func (f *Front) at(ctx context.Context, p paddock.Principal, id paddock.RunID) (place, error) {
	run, err := f.App.Look(ctx, p, id)
	if err == nil {
		return place{house: f.App, run: run}, nil
	}
	if !answers.IsHidden(err) {
		return place{}, err
	}
	row, err := f.cfg.Runs.Run(ctx, rows.Scope(p), id)
	if err != nil {
		return place{}, answers.Unless(err)
	}
	at := place{row: &row, run: f.record(row)}
	if row.Worker != "" && row.Worker != f.cfg.Worker && f.cfg.Elsewhere != nil {
		at.house = f.cfg.Elsewhere.At(row.Worker)
	}
	return at, nil
}

// record is what a row says of its run.
func (f *Front) record(r store.Run) paddock.Run {
	return rows.Record(r, &f.cfg.Key.Public, f.cfg.Now())
}

// until looks until it is seen what is waited for; see hint.Bell.
func (f *Front) until(ctx context.Context, look func() (bool, error)) error {
	return f.cfg.Told.Until(ctx, tick, look)
}
