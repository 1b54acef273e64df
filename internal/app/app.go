// Package app has one method per verb. It is the only place that asks whether a
// principal may do a thing: every door goes through it and none round it.
//
// An operator sees every run of the state directory, anybody else only the
// runs that were started by a principal equal in kind and id. What one may not
// see looks, in every answer, like what isn't there.
//
// A run's end counts as read, for [App.Counters], once its owner was given the
// settled run by Status, Wait or Kill. Reading output doesn't count: a page may
// be read long before the end, and for its own sake.
//
// # Limits
//
// App holds no state of its own, parses no wire format and prints nothing.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/app/attach"
	"paddock/internal/app/plans"
	"paddock/internal/executor"
	"paddock/internal/rundir"
)

// An App serves the verbs. Its methods may be called concurrently. Every error
// that a caller is meant to understand is a [*paddock.Refusal]; any other is a
// fault of ours or of the machine.
type App struct {
	exec *executor.Executor
	*plans.Plans
	*attach.Verbs
}

// New returns an App that acts through e and closes it when it is closed.
func New(e *executor.Executor) *App {
	a := &App{exec: e, Plans: plans.New(e, plans.House{Named: named, Discreet: discreetRefusal, Decision: discreet})}
	a.Verbs = attach.New(e, attach.House{May: a.may, Follow: a.Follow})
	return a
}

// Explain judges req as Start would and changes nothing. An error is no judgement.
func (a *App) Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error) {
	d, err := a.exec.Explain(ctx, req)
	return discreet(req.Principal, d), err
}

// Start judges req and, when it is granted, returns its run once the program has become the
// program or has failed to. A program that could not be started is a settled run, not an
// error. Asking again with the same idempotency key returns the same run.
func (a *App) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	if req.Room != "" {
		return paddock.Run{}, fmt.Errorf("%w: a door asks for room %q, which asks for itself", paddock.ErrFault, req.Room)
	}
	run, err := a.exec.Start(ctx, req)
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		return paddock.Run{}, discreetRefusal(req.Principal, refusal)
	}
	return run, err
}

// Status returns the run as of now. Runs of others look like unknown ones.
// Reading a settled run's status takes it out of the finished counter.
func (a *App) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	run, err := a.visible(ctx, p, id)
	if err != nil {
		return paddock.Run{}, err
	}
	return run, a.read(p, run)
}

// Wait returns when the run is settled, or its status then when wait is over
// first (any length) or ctx ends (with ctx's error). Zero wait waits for ever.
func (a *App) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait < 0 {
		return paddock.Run{}, paddock.Refused(paddock.InvalidRequest, "The time to wait is negative.")
	}
	if err := a.may(p, id); err != nil {
		return paddock.Run{}, err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if wait > 0 {
		limited, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	run, err := a.exec.Wait(limited, id)
	if end := limited.Err(); end != nil && errors.Is(err, end) { // and no fault that came with it
		err = ctx.Err() // nil when only the wait is over
	}
	if err != nil {
		return run, err
	}
	return run, a.read(p, run)
}

// Output returns one page. With req.Wait it waits that long (at most
// paddock.MaxWait) for something to be there at the offset.
func (a *App) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if wait := time.Duration(req.Wait); wait < 0 || wait > paddock.MaxWait {
		return paddock.Page{}, paddock.Refused(paddock.InvalidRequest, "wait_ms is %d; it is from 0 to %d.", wait.Milliseconds(), paddock.MaxWait.Milliseconds())
	}
	if _, err := a.visible(ctx, p, id); err != nil {
		return paddock.Page{}, err
	}
	if req.Unmasked && p.Kind != paddock.Operator && p.Kind != paddock.Host {
		return paddock.Page{}, paddock.Refused(paddock.Forbidden, "What is hidden of secrets is shown to no agent.")
	}
	page, err := a.exec.Output(ctx, id, req)
	if req.Unmasked && err == nil {
		err = a.exec.Unmasked(ctx, p, id, page)
	}
	if err != nil {
		return paddock.Page{}, err
	}
	return page, nil
}

// Follow writes the bytes of one stream, or of both in order of arrival, from
// offset to w, and goes on until the run is settled and everything is written.
func (a *App) Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error {
	switch {
	case s != paddock.Stdout && s != paddock.Stderr && s != paddock.Combined:
		return paddock.Refused(paddock.InvalidRequest, "There is no stream %q; there are stdout, stderr and combined.", s)
	case offset < 0:
		return paddock.Refused(paddock.InvalidRequest, "The offset is negative.")
	}
	if _, err := a.visible(ctx, p, id); err != nil {
		return err
	}
	return a.exec.Follow(ctx, id, s, offset, w)
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

const mostReason = 500

func (k KillRequest) validate() error {
	switch k.Signal {
	case "", "TERM", "INT", "HUP", "KILL":
	default:
		return paddock.Refused(paddock.InvalidRequest, "There is no signal %.20q to end a run with; there are TERM, INT, HUP and KILL.", k.Signal)
	}
	if len(k.Reason) > mostReason || !utf8.ValidString(k.Reason) || strings.ContainsFunc(k.Reason, unicode.IsControl) {
		return paddock.Refused(paddock.InvalidRequest, "The reason must be one line of at most %d bytes of text.", mostReason)
	}
	return nil
}

func (k KillRequest) ending(p paddock.Principal) executor.Ending {
	signal := k.Signal
	if signal == "" {
		signal = "TERM"
	}
	return executor.Ending{Kind: paddock.ReasonKill, Signal: signal, By: p.ID, Why: k.Reason, NoWait: k.NoWait}
}

// Kill ends the run and returns its record. A settled run comes back unchanged.
func (a *App) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req KillRequest) (paddock.Run, error) {
	if err := req.validate(); err != nil {
		return paddock.Run{}, err
	}
	if _, err := a.visible(ctx, p, id); err != nil {
		return paddock.Run{}, err
	}
	run, err := a.exec.Kill(ctx, id, req.ending(p))
	if err != nil {
		return run, err
	}
	return run, a.read(p, run)
}

// atOnce bounds how many runs KillAll talks to at a time.
const atOnce = 64

// KillAll ends every run that p may see and that isn't settled, at once. The
// runs come back as they were when it was done with them, oldest first; an
// error tells of those with which it wasn't.
func (a *App) KillAll(ctx context.Context, p paddock.Principal, req KillRequest) ([]paddock.Run, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	if err := named(p); err != nil {
		return nil, err
	}
	active, err := a.exec.Active(ctx)
	var broken *executor.Unreadable
	if errors.As(err, &broken) && p.Kind != paddock.Operator {
		err = nil // nobody can say whose these are
	}
	if err != nil && broken == nil {
		return nil, err
	}
	var mine []paddock.Run
	for _, run := range active {
		if sees(p, run) {
			mine = append(mine, run)
		}
	}
	faults := make([]error, len(mine))
	var all sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i := range mine {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			run, err := a.exec.Kill(ctx, mine[i].ID, req.ending(p))
			if err != nil {
				faults[i] = fmt.Errorf("run %s: %w", mine[i].ID, err)
				return
			}
			mine[i] = run
			faults[i] = a.read(p, run)
		})
	}
	all.Wait()
	return mine, errors.Join(errors.Join(faults...), err)
}

// A Filter narrows a listing. The zero Filter lists the newest 50 runs.
type Filter struct {
	Active bool          `json:"active,omitempty"` // only runs that aren't settled
	Limit  int           `json:"limit,omitempty"`  // at most 1,000; zero means 50
	Before paddock.RunID `json:"before,omitempty"` // only runs made before this one
	Label  string        `json:"label,omitempty"`  // only runs with exactly this label
	Looks  int           `json:"-"`                // see [executor.Wanted]
	Copies rundir.Copies `json:"-"`                // likewise
}

// Bounds of a listing.
const (
	defaultListed = 50
	mostListed    = 1000
)

// Unreadable is the error of a listing that had to leave runs out.
type Unreadable = executor.Unreadable

// A Listing is a page of runs, newest first.
type Listing struct {
	Runs []paddock.Run `json:"runs"`
	// Next is the Before of the next page; empty when this is the last.
	Next paddock.RunID `json:"next,omitempty"`
}

// List returns runs that p may see, newest first. When records can't be read an
// operator gets the others together with an error of type [*Unreadable].
func (a *App) List(ctx context.Context, p paddock.Principal, f Filter) (Listing, error) {
	if err := named(p); err != nil {
		return Listing{}, err
	}
	switch {
	case f.Limit < 0 || f.Limit > mostListed:
		return Listing{}, paddock.Refused(paddock.InvalidRequest, "limit is %d; it is from 1 to %d.", f.Limit, mostListed)
	case f.Limit == 0:
		f.Limit = defaultListed
	}
	if f.Before != "" {
		if _, err := paddock.ParseRunID(string(f.Before)); err != nil {
			return Listing{}, paddock.Refused(paddock.InvalidRequest, "before is %v.", err)
		}
	}
	wanted := executor.Wanted{Label: f.Label, Looks: f.Looks, Again: f.Looks > 0, Copies: f.Copies}
	if p.Kind != paddock.Operator {
		wanted.Principal = p
	}
	list := a.exec.List
	if f.Active {
		list = a.exec.ListActive
	}
	runs, next, err := list(ctx, f.Before, f.Limit, wanted)
	var broken *executor.Unreadable
	if errors.As(err, &broken) && p.Kind != paddock.Operator {
		err = nil // nobody can say whose these are
	}
	return Listing{Runs: append([]paddock.Run{}, runs...), Next: next}, err
}

// Counters are what an agent is told beside every result.
type Counters struct {
	Running  int `json:"running"`  // not settled
	Finished int `json:"finished"` // settled, and its end not read yet
}

// Counters counts p's own runs.
func (a *App) Counters(ctx context.Context, p paddock.Principal) (Counters, error) {
	if err := named(p); err != nil {
		return Counters{}, err
	}
	running, finished, err := a.exec.Count(ctx, p)
	return Counters{Running: running, Finished: finished}, err
}

// Close lets go of the state directory. Runs go on.
func (a *App) Close() error {
	a.End()
	return a.exec.Close()
}

// visible returns the run if p may see it.
func (a *App) visible(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	if err := named(p); err != nil {
		return paddock.Run{}, err
	}
	run, err := a.exec.Run(ctx, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !sees(p, run) {
		return paddock.Run{}, paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
	}
	return run, err
}

// may says whether p may see the run, in the words of visible and without looking
// further than at who asked for it.
func (a *App) may(p paddock.Principal, id paddock.RunID) error {
	if err := named(p); err != nil {
		return err
	}
	owner, err := a.exec.Principal(id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !sees(p, paddock.Run{Principal: owner}) {
		return paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
	}
	return err
}

// read notes that p was given the end of its run.
func (a *App) read(p paddock.Principal, run paddock.Run) error {
	if run.Principal != p || !run.State.Settled() {
		return nil
	}
	return a.exec.Seen(p, run.ID)
}

func sees(p paddock.Principal, run paddock.Run) bool {
	return p.Kind == paddock.Operator || p == run.Principal
}

// named refuses nobody.
func named(p paddock.Principal) error {
	switch p.Kind {
	case paddock.Operator, paddock.Agent, paddock.Host, paddock.User:
		if p.ID != "" {
			return nil
		}
	}
	return paddock.Refused(paddock.Forbidden, "Nobody in particular asks: a principal has a kind and an id.")
}
