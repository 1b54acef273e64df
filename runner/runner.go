// Package runner runs commands for a Go program under a policy: it starts what
// the policy allows, keeps every byte of output, and ends whole process trees.
//
//	r, err := runner.Open(ctx, "/etc/myapp/policy.yaml", runner.Options{StateDir: "/var/lib/myapp/runs"})
//	run, err := r.Start(ctx, runner.Command{Argv: []string{"go", "test", "./..."}})
//	run, err = r.Wait(ctx, run.ID)
//	page, err := r.Output(ctx, run.ID, runner.PageRequest{})
//
// A command is an argv array; there is no shell. Each run has a supervisor of
// its own, the program paddock-stage, which must be installed beside the host
// program or be named in [Options]. Runs and their output outlive the host
// program unless [Options] say otherwise, and are there again for whoever opens
// the state directory as the same principal next.
//
// Three things are kept apart. A request that isn't allowed gives an error of
// type [*Refusal], which says why and what to do next:
//
//	var refusal *runner.Refusal
//	if errors.As(err, &refusal) { … refusal.Code, refusal.Hint … }
//
// A program that fails, or can't be started, is a [Run] with an [Outcome] and no
// error. Any other error is ours or the machine's.
//
// # Limits
//
// The package never executes the host program again, never waits for children
// that aren't its own, changes no signal handling and reads no environment
// variable: what a policy passes on from the host comes from Options.HostEnv.
// Who the host's own users are it doesn't know: all runs of a Runner belong to
// its one principal. Linux only.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/served"
	"paddock/internal/executor"
)

// OnClose says what becomes of a Runner's runs when it is closed.
type OnClose int

// What can become of runs. KeepRuns is the zero value's meaning.
const (
	// KeepRuns lets them go on, through Close and the end of the host program.
	KeepRuns OnClose = iota
	// KillRuns ends those that this Runner started, at Close and, by their
	// supervisors, when the host program ends without it.
	KillRuns
)

// A HookRequest is what a Hook is asked about. It is a copy.
type HookRequest = executor.HookRequest

// Options say how a Runner works. StateDir must be set.
type Options struct {
	// StateDir is the absolute path of the directory for records and output. It
	// is made, owner-only, where it is missing.
	StateDir string
	// PolicyText is the policy itself; the path given to Open is then only its
	// name in messages.
	PolicyText []byte
	// Principal names this host program. Its runs belong to that name, so it
	// should stay the same over restarts; empty means one name per user.
	Principal string
	// Stage is the path of paddock-stage; empty means the one beside the host
	// program, else the one inside it, if it was built with -tags embed_stage.
	Stage string
	// OnClose says what becomes of runs when the Runner is closed.
	OnClose OnClose
	// Hook is asked about each request that everything else allows. A nil error
	// allows; the text of any other is the refusal's message; a panic denies.
	Hook func(context.Context, HookRequest) error
	// HostEnv returns the variables that the policy may pass on, as os.LookupEnv
	// does; nil means that there are none.
	HostEnv func(name string) (value string, ok bool)
	// Warm is how many supervisors are kept started ahead of need.
	Warm int
	// Warn is told what goes wrong in the background; nil means nobody is.
	Warn func(error)
	// ServeTools serves delegates the tools that the policy gives them: it is
	// agenttools.Serve. Nil means that a task for a provider with tools is refused.
	ServeTools served.Serve

	isolation []paddock.Isolation                                // for tests; nil means all
	grace     time.Duration                                      // for tests; zero means five seconds
	levels    func() ([]paddock.Level, map[paddock.Level]string) // for tests; nil asks this machine
}

// A Runner runs commands. Its methods may be called concurrently.
type Runner struct {
	app       *app.App
	principal paddock.Principal
	onClose   OnClose

	life context.Context // until Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool                       // guarded by mu
	live   map[paddock.RunID]struct{} // started here and not settled; guarded by mu
}

// Open opens the state directory and the policy file at the path policy. The
// file is read again whenever it has changed. A policy that is missing or has
// errors isn't an error here: Start refuses with the reason.
//
// Canceling ctx after Open has returned changes nothing. The caller must Close
// the Runner.
func Open(ctx context.Context, policy string, opt Options) (*Runner, error) {
	if !filepath.IsAbs(opt.StateDir) {
		return nil, fmt.Errorf("runner: StateDir is %q; it must be an absolute path", opt.StateDir)
	}
	source := executor.PolicyFile(policy)
	if opt.PolicyText != nil {
		source = executor.PolicyText(policy, opt.PolicyText)
	}
	id := opt.Principal
	if id == "" {
		id = fmt.Sprintf("host of user %d", os.Getuid())
	}
	e, err := executor.Open(ctx, executor.Config{
		State: opt.StateDir, Policy: source, Stage: opt.Stage, Warm: opt.Warm, Hook: opt.Hook,
		HostEnv: opt.HostEnv, Warn: opt.Warn, Isolation: opt.isolation, Grace: opt.grace, Levels: opt.levels,
	})
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	r := &Runner{
		app: app.New(e), principal: paddock.Principal{Kind: paddock.Host, ID: id},
		onClose: opt.OnClose, live: map[paddock.RunID]struct{}{},
	}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	if opt.ServeTools != nil {
		r.app.ServeTools(opt.tools(r.app, source))
	}
	return r, nil
}

// A Command is what to run. Argv must be set.
type Command struct {
	// Argv is the program's word, as the policy knows it, and its arguments.
	Argv []string
	// Dir is the working directory, absolute or relative to the policy's first
	// root; empty means that root.
	Dir string
	// Label is for people; empty means the first words of Argv.
	Label string
	// Timeout ends the run; zero means the policy's. It can only lower.
	Timeout time.Duration
	// Idle ends the run after that much silence; zero means the policy's. It can
	// only lower.
	Idle time.Duration
	// OutputLimit is the most bytes kept per stream; zero means the policy's. It
	// can only lower.
	OutputLimit int64
	// DiskLimit is the most bytes written to disks; zero means the policy's. It
	// can only lower.
	DiskLimit int64
	// Env, when not nil, is the program's whole environment, in place of the one
	// that the policy makes. Variables that look like secrets are refused.
	Env map[string]string
	// Stdin is what the program reads; the zero value is an empty stream.
	Stdin Stdin
	// IdempotencyKey makes starting the same command again return the run of the
	// first time; empty means that each is a new run.
	IdempotencyKey string
}

func (r *Runner) request(c Command) paddock.Request {
	return paddock.Request{
		Principal: r.principal, Door: paddock.DoorGo, Tied: r.onClose == KillRuns, IdempotencyKey: c.IdempotencyKey,
		Command: paddock.Command{
			Argv: c.Argv, Dir: c.Dir, Label: c.Label, Timeout: paddock.Duration(c.Timeout), Idle: paddock.Duration(c.Idle), OutputLimit: c.OutputLimit, DiskLimit: c.DiskLimit,
			ReplaceEnv: c.Env, Stdin: c.Stdin,
		},
	}
}

// Explain judges c as Start would, and changes nothing. An error is no judgement: it
// is a fault of ours or of the machine.
func (r *Runner) Explain(ctx context.Context, c Command) (Decision, error) {
	return r.app.Explain(ctx, r.request(c))
}

// Start starts c if the policy and the hook allow it, and returns its run once
// the program has become the program or has failed to.
//
// The run is tied to ctx: when ctx ends, now or later, the run is ended, with
// the reason abort, for as long as the Runner is open. Pass a context without
// cancellation for a run that is to go on.
func (r *Runner) Start(ctx context.Context, c Command) (Run, error) {
	run, err := r.app.Start(ctx, r.request(c))
	if err != nil || run.State.Settled() {
		return run, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.live[run.ID]; again || r.closed {
		return run, nil
	}
	r.live[run.ID] = struct{}{}
	// The abort has a life of its own: ctx is over when it begins.
	unwatch := context.AfterFunc(ctx, func() { _ = r.app.Abort(r.life, r.principal, run.ID) })
	r.work.Go(func() {
		defer unwatch()
		_ = r.app.Settled(r.life, r.principal, run.ID)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.life.Err() == nil {
			delete(r.live, run.ID)
		}
	})
	return run, nil
}

// Status returns the run as of now.
func (r *Runner) Status(ctx context.Context, id RunID) (Run, error) {
	return r.app.Status(ctx, r.principal, id)
}

// Wait returns when the run is settled, or with ctx's error when that ends
// first; the run as it is then comes with it.
func (r *Runner) Wait(ctx context.Context, id RunID) (Run, error) {
	return r.app.Wait(ctx, r.principal, id, 0)
}

// Output returns one page of a run's output. With req.Wait it waits that long
// for something to be there.
func (r *Runner) Output(ctx context.Context, id RunID, req PageRequest) (Page, error) {
	return r.app.Output(ctx, r.principal, id, req)
}

// Follow writes a stream from offset to w, as it comes, until the run is settled
// and everything is written.
func (r *Runner) Follow(ctx context.Context, id RunID, s Stream, offset int64, w io.Writer) error {
	return r.app.Follow(ctx, r.principal, id, s, offset, w)
}

// A Signal asks a run to end.
type Signal string

// The signals. All but KILL are followed by KILL after five seconds.
const (
	TERM Signal = "TERM"
	INT  Signal = "INT"
	HUP  Signal = "HUP"
	KILL Signal = "KILL"
)

// Kill ends a run, whole, and returns its record when it is settled. An empty
// signal is TERM; reason is for the record. A settled run comes back unchanged.
func (r *Runner) Kill(ctx context.Context, id RunID, signal Signal, reason string) (Run, error) {
	return r.app.Kill(ctx, r.principal, id, app.KillRequest{Signal: string(signal), Reason: reason})
}

// KillAll ends every run of this principal, whoever started it, at once.
func (r *Runner) KillAll(ctx context.Context, signal Signal, reason string) ([]Run, error) {
	return r.app.KillAll(ctx, r.principal, app.KillRequest{Signal: string(signal), Reason: reason})
}

// Diff returns what a settled run changed in its workspace, where the policy
// has that kept apart (containment.workspace: overlay).
func (r *Runner) Diff(ctx context.Context, id RunID, choice Choice) (Changes, error) {
	return r.app.Diff(ctx, r.principal, id, choice)
}

// Apply brings the chosen changes of a settled run into its workspace, all of
// them or none. Where the workspace changed since the run began, only paths
// that are named are replaced.
func (r *Runner) Apply(ctx context.Context, id RunID, choice Choice) (Applied, error) {
	return r.app.Apply(ctx, r.principal, id, choice)
}

// Discard throws away what a settled run changed. Its record stays.
func (r *Runner) Discard(ctx context.Context, id RunID) (Run, error) {
	return r.app.Discard(ctx, r.principal, id)
}

// Quarantine lists what was moved out of a run's root, because other tools would
// execute or obey it, and where it is now.
func (r *Runner) Quarantine(ctx context.Context, id RunID) (Quarantine, error) {
	return r.app.Quarantine(ctx, r.principal, id)
}

// Restore moves what came from the paths back there. Nothing is replaced.
func (r *Runner) Restore(ctx context.Context, id RunID, paths []string) (Restored, error) {
	return r.app.Restore(ctx, r.principal, id, paths)
}

// List returns this principal's runs, newest first.
func (r *Runner) List(ctx context.Context, f Filter) (Listing, error) {
	return r.app.List(ctx, r.principal, f)
}

// Close lets go of the state directory. With KillRuns it first ends the runs
// that this Runner started, and waits until they are settled. Closing again
// does nothing.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	var live []paddock.RunID
	for id := range r.live {
		live = append(live, id)
	}
	r.mu.Unlock()
	var killed error
	if r.onClose == KillRuns {
		killed = r.app.Shutdown(r.life, r.principal, live)
	}
	r.end()
	r.work.Wait()
	return errors.Join(killed, r.app.Close())
}
