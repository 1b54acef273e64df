// Package executor carries out what a policy allows. It is the only room that
// turns a request into a run, and the only one that brings the end of a run
// about.
//
// A request is judged by one function (package judge), whether it is only
// explained or started. What was looked at to judge it (package facts) stays
// open, so the run gets exactly what was judged. An allowed request is written
// down, claimed under the state directory's lock, where the number of runs and
// the idempotency key are checked for all processes at once. A supervisor (package
// stages) has the job by then, and starts the run, which it owns from there, by the
// word that it is written down (package hand).
//
// What became of a run is read from its directory (package pages for output).
// The supervisor's connection only wakes those who wait (package watch): when it
// is silent or gone, they look, and whoever finds that nobody holds a run's lock
// writes down that it is lost.
//
// # Limits
//
// The package doesn't ask whether a principal may see or end a run; package app
// does. It reads no environment: the host's variables are handed in.
package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"paddock"
	"paddock/internal/executor/judge"
	"paddock/internal/executor/judge/source"
	"paddock/internal/executor/leases"
	"paddock/internal/executor/notes"
	"paddock/internal/executor/provide"
	"paddock/internal/executor/remains"
	"paddock/internal/executor/retain"
	"paddock/internal/executor/roster"
	"paddock/internal/executor/signing"
	"paddock/internal/executor/stages"
	"paddock/internal/executor/upkeep"
	"paddock/internal/executor/watch"
	"paddock/internal/journal/writer"
	"paddock/internal/policy/compiled"
	"paddock/internal/rundir"
)

// Grace is the time between asking a run to end and killing its tree.
const Grace = 5 * time.Second

// ErrClosed is the error of everything that is asked of a closed Executor.
var ErrClosed = watch.ErrClosed

// The words of package judge that are needed to configure an Executor.
type (
	// A Source gives the policy that applies now, or says why there is none.
	Source = source.Source
	// A Hook is a host program's veto.
	Hook = judge.Hook
	// A HookRequest is what a Hook is asked about.
	HookRequest = judge.HookRequest
)

// PolicyFile is the policy in the file at path; see [source.File].
func PolicyFile(path string) Source { return source.File(path) }

// PolicyText is the policy that data says; see [source.Text].
func PolicyText(name string, data []byte) Source { return source.Text(name, data) }

// Config says what an Executor works with. State and Policy must be set.
type Config struct {
	// State is the state directory's absolute path; it is made if need be.
	State string
	// Reading says that the state directory is read as it is where it can't be
	// written to or is another user's; then nothing can be started or ended.
	Reading bool
	// Policy gives the policy for each request.
	Policy Source
	// Stage is the path of paddock-stage; empty means the one beside the running
	// program, else the one that release builds carry inside.
	Stage string
	// Warm is how many supervisors are kept started ahead of need.
	Warm int
	// Idle says that nothing is started here, whoever asks.
	Idle bool
	// Expect says that a run is about to be asked for, and of which kind: then its
	// supervisor is started at once, beside all that comes before it is needed. The
	// zero value expects none.
	Expect stages.Expectation
	// Hook is asked last, when everything else allows; nil allows.
	Hook Hook
	// HostEnv returns the host's variables that a policy may pass on; nil means
	// that there are none.
	HostEnv func(name string) (value string, ok bool)
	// Warn is told what goes wrong in the background; nil means nobody is.
	Warn func(error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Tick says when to look for lost runs; nil means every five seconds.
	Tick <-chan time.Time
	// Grace is the time between asking a run to end and killing its tree; zero
	// means the constant Grace.
	Grace time.Duration
	// Isolation lists the means of holding a run's tree to try; nil means all.
	Isolation []paddock.Isolation
	// Levels lists what containment can be given here, and of each other level
	// what is missing; nil means that this machine is asked.
	Levels  func() ([]paddock.Level, map[paddock.Level]string)
	Disk    func(dir string) (free, size int64, err error) // see judge.Config
	Apart   []string                                       // see judge.Config
	Journal writer.Options                                 // for tests that let the disk fail
}

// An Executor starts runs and follows them. Its methods may be called
// concurrently. See [Open].
type Executor struct {
	roster.Roster   // which runs there are
	*watch.Standing // how they are
	Leases          *leases.Leases

	cfg   Config
	state *rundir.State
	judge *judge.Judge
	notes *notes.Notes
	keep  *upkeep.Upkeep
	hub   *watch.Hub
	life  context.Context // until Close
	end   context.CancelFunc
	work  sync.WaitGroup // goroutines that end with life

	poolOnce sync.Once // the binary is looked for when the first run needs it
	secrets  *provide.Providers
	pool     *stages.Pool
	poolErr  error

	closing sync.Once
}

// Open opens the state directory, settles runs that nobody looks after any
// more, and goes on doing so until Close. Canceling ctx later changes nothing.
func Open(ctx context.Context, cfg Config) (*Executor, error) {
	if cfg.Policy == nil {
		return nil, errors.New("executor: no source of policies is given")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Warn == nil {
		cfg.Warn = func(error) {}
	}
	if cfg.Grace <= 0 {
		cfg.Grace = Grace
	}
	state, err := rundir.Open(cfg.State)
	if err != nil && cfg.Reading {
		state, err = rundir.OpenToRead(cfg.State, err)
	}
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, state: state, Leases: leases.In(state.Path())}
	e.life, e.end = context.WithCancel(context.WithoutCancel(ctx))
	if cfg.Expect != stages.ExpectNone && state.ReadOnly() == nil { // it comes up beside all that follows
		if pool, err := e.stages(); err == nil { // else whoever needs it is told
			pool.Expect(cfg.Expect == stages.ExpectFree)
		}
	}
	e.hub = watch.New(ctx, e.seek)
	e.Standing = &watch.Standing{State: state, Hub: e.hub, Now: cfg.Now, Seek: e.seek}
	e.Roster = roster.New(state, e.Run)
	e.judge = judge.New(judge.Config{Policy: cfg.Policy, State: state, HostEnv: cfg.HostEnv, Hook: cfg.Hook, Now: cfg.Now, Levels: cfg.Levels, Disk: cfg.Disk, Apart: cfg.Apart})
	e.secrets = provide.New(e, cfg.Now)
	state.OnUnborn(func(id paddock.RunID, root string) { remains.Unborn(id, root, cfg.Warn) })
	state.OnLost(func(dir *rundir.Dir) (*paddock.Deeper, error) { return remains.Clear(dir, judge.Workspace, cfg.Now) })
	if state.ReadOnly() != nil {
		return e, nil //nolint:nilerr // what can only be read is only read
	}
	e.notes, err = notes.Open(e.life, state, cfg.Now, cfg.Warn, cfg.Journal)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	sweeper := retain.NewSweeper(state, e.notes.Prune, cfg.Now, cfg.Policy.Load)
	e.keep = &upkeep.Upkeep{State: state, Flush: e.notes.Flush, Sweep: func(ctx context.Context) error { return errors.Join(sweeper.Turn(ctx), state.SweepPolicies(cfg.Now())) }, Sign: signing.New(e.notes.Dir(), cfg.Now).Turn, Now: cfg.Now, Warn: cfg.Warn, Resume: e.Resume}
	// A run that can't be reconciled must not keep the others from their owners.
	if err := e.keep.Reconcile(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), e.Close())
		}
		cfg.Warn(err)
	}
	if cfg.Warm > 0 {
		if _, err := e.stages(); err != nil {
			cfg.Warn(err)
		}
	}
	e.Resume(ctx)
	e.work.Go(func() { e.keep.Run(e.life, cfg.Tick) })
	return e, nil
}

// stages returns the pool of supervisors.
func (e *Executor) stages() (*stages.Pool, error) {
	e.poolOnce.Do(func() { e.pool, e.poolErr = stages.Open(e.life, e.cfg.Stage, e.state.Path(), e.cfg.Warm, e.cfg.Warn) })
	return e.pool, e.poolErr
}

// Close lets go of the state directory and of every connection. Runs go on,
// except those that are tied to this process: their supervisors end them.
func (e *Executor) Close() error {
	var err error
	e.closing.Do(func() {
		e.end()
		e.hub.Close()
		e.poolOnce.Do(func() { e.poolErr = ErrClosed })
		if e.pool != nil {
			e.pool.Close()
		}
		e.work.Wait()
		if e.notes != nil {
			err = e.notes.Close()
		}
		err = errors.Join(err, e.state.Close())
	})
	return err
}

// StateDir is the state directory's real path, for who keeps something beside the runs.
func (e *Executor) StateDir() string { return e.state.Path() }

// Delegates is what the policy says of agents that may be given tasks; nil for nothing.
func (e *Executor) Delegates() (*compiled.Delegates, error) {
	p, err := e.cfg.Policy.Load()
	return p.Delegates(), err
}

// Refused has a refusal written down that came before anything was started.
func (e *Executor) Refused(ctx context.Context, req paddock.Request, policy paddock.Digest, r *paddock.Refusal) {
	e.notes.Refused(ctx, req, policy, r)
}

// Now is the time.
func (e *Executor) Now() time.Time { return e.cfg.Now() }

// ReadOnly says why nothing can be started, ended or changed here; nil where it can.
func (e *Executor) ReadOnly() error { return e.state.ReadOnly() }

// unwritable refuses what would have to be written down.
func (e *Executor) unwritable() error { return notes.Unwritable(e.state.ReadOnly()) }

// seek looks for a run whose supervisor can't be heard: whether it still exists
// and whether anybody looks after it. If nobody does, it is settled as lost.
func (e *Executor) seek(ctx context.Context, dir *rundir.Dir) error {
	if _, err := e.state.Run(dir.ID()); err != nil {
		return err
	}
	if e.keep == nil { // we only read
		run, err := e.state.Look(dir, e.cfg.Now())
		if err == nil && run.State.Settled() {
			err = fmt.Errorf("run %s has no end that is written down, and nobody looks after it: %w", dir.ID(), e.state.ReadOnly())
		}
		return err
	}
	if err := e.keep.Reconcile(ctx); err != nil && ctx.Err() == nil && e.life.Err() == nil {
		e.cfg.Warn(err) // perhaps of another run; ours is asked for again
	}
	return nil
}
