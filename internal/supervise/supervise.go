//go:build linux

// Package supervise is the loop of one run: it owns the pipes, the clocks, the
// caps and the run's directory, and writes the outcome.
//
// [Run] takes a [Job], which somebody else decided, and returns when the run is
// settled. One goroutine owns the state of the run; what reads pipes, feeds
// standard input or talks to callers only sends it requests, so the first
// reason to end wins and no two explanations can mix.
//
// # Limits
//
// The package knows neither policies nor stores and judges nothing. It doesn't
// survive its own process: where the tree is held by the kernel the run ends
// with it, and whoever uses the state directory next writes that down.
package supervise

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/failpoint"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/process"
	"paddock/internal/spawn"
	"paddock/internal/supervise/account"
	"paddock/internal/supervise/ahead"
	"paddock/internal/supervise/bounds"
	"paddock/internal/supervise/bounds/written"
	"paddock/internal/supervise/deadman"
	"paddock/internal/supervise/hub"
	"paddock/internal/supervise/intake/hiding"
	"paddock/internal/supervise/intake/room"
	"paddock/internal/supervise/pipes"
	"paddock/internal/supervise/reason"
	"paddock/internal/supervise/silence"
	"paddock/internal/supervise/terminal"
	"paddock/internal/supervise/walls"
)

// DefaultGrace is the time between a request to end and the kill of the tree.
const DefaultGrace = 5 * time.Second

// leftoverGrace is for what the leader left behind: the run is over, so it gets
// less time than a program that is asked to end.
const leftoverGrace = time.Second

// destroyAfter is how long the process in between may take to kill all others.
const destroyAfter = time.Second

// abandonAfter is how long the kernel may take to end what it was told to end.
// A process that is frozen or stuck in the kernel must not keep the run open.
const abandonAfter = 5 * time.Second

// drainLimit bounds the reading of a pipe that somebody outside of the tree
// still holds after the tree is gone.
const drainLimit = time.Second

// A Job is one run to supervise.
type Job = handover.Job

// Files are the descriptors of a Job.
type Files = handover.Files

// Options inject what tests replace. The zero value is for real use.
type Options struct {
	// After returns a channel that receives once after d; nil means real time.
	After func(d time.Duration) <-chan time.Time
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Boot is the clock of leases; nil means the machine's boot clock.
	Boot func() time.Duration
	// Self is the supervisor binary, which is the proxy's too; empty means this
	// very program.
	Self string
	Free func() (int64, error) // see room.New
	// Ahead is what was made before the job was there; nil is nothing. It is the run's.
	Ahead *ahead.Process
	// Places were found then; nil is none.
	Places *ahead.Places
	// Ready is what was made ready since, with these two; nil is nothing.
	Ready *Held
}

// Run supervises job until it is settled: the tree is gone, the output is
// sealed and the outcome is published. conn is the connection by which the job
// came; nil means none. Ending ctx asks the run to end, as a shutdown.
//
// The error is for what could not be written down; the run is over anyway.
func Run(ctx context.Context, job Job, files Files, conn net.Conn, opt Options) error {
	if err := errors.Join(job.Check(), job.Heard()); err != nil {
		opt.Ready.Close()
		return err
	}
	if job.Grace == 0 {
		job.Grace = paddock.Duration(DefaultGrace)
	}
	if len(job.Isolation) == 0 {
		job.Isolation = lifecycle.Isolations(os.Geteuid())
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.After == nil {
		opt.After = time.After
	}
	dir, err := rundir.OpenRun(job.RunDir)
	if err != nil {
		opt.Ready.Close()
		return err
	}
	bank, err := account.Take(dir, artifact.Options{Cap: job.OutputCap, Now: opt.Now})
	if errors.Is(err, account.ErrAnother) {
		opt.Ready.Close()
		return err
	} else if err != nil {
		return errors.Join(err, publish(ctx, job, dir, reason.FailedToStart("output files", err, opt.Now()), opt))
	}
	hidden, err := hiding.Open(job, files.Known, files.Sink)
	if err != nil {
		return errors.Join(err, bank.Close(), publish(ctx, job, dir, reason.FailedToStart("secrets", err, opt.Now()), opt))
	}
	r := &run{job: job, files: files, dir: dir, bank: bank, hiding: hidden, opt: opt, ends: make(chan end), over: make(chan struct{}), hub: hub.New()}
	if r.terminal, err = terminal.New(job.RunDir, job.Terminal, func() int64 { return bank.Size(paddock.Stdout) }, opt.Now); err != nil {
		return errors.Join(err, bank.Close(), hidden.Close(), publish(ctx, job, dir, reason.FailedToStart("terminal", err, opt.Now()), opt))
	}
	r.room = room.New(job.RunDir, job.Reserve, opt.Now, opt.Free).Within(job.Room, job.RoomBy)
	r.lease = deadman.New(job.Lease, opt.After, opt.Boot)
	r.silence = &silence.Watch{Most: time.Duration(job.Limits.Idle), Now: opt.Now, After: opt.After}
	return errors.Join(r.supervise(ctx, conn), bank.Close(), hidden.Close(), r.terminal.Close())
}

// A run is the state of one run. Its fields below ends belong to the goroutine
// that runs supervise.
type run struct {
	job    Job
	files  Files
	dir    *rundir.Dir
	bank   *artifact.Bank
	opt    Options
	hiding *hiding.Hiding
	hub    *hub.Hub
	// terminal is nil where the run has none.
	terminal *terminal.Terminal

	ends chan end      // requests to end, from anywhere
	over chan struct{} // closed when requests make no sense any more

	bounds  *bounds.Bounds // its limits; set before the start
	silence *silence.Watch
	lease   *deadman.Watch
	journal *account.Journal // from the start on
	room    *room.Room
	program *spawn.Program
	reason  *paddock.Reason // the first to come
	// survivors is how many processes were left when the end was given up.
	survivors int
	cleaning  sync.WaitGroup // takes away what held the run

	mu   sync.Mutex
	late *paddock.Reason // output that could not be kept, seen after the leader's end
}

// An end is a request to end the run.
type end struct {
	reason paddock.Reason
	signal syscall.Signal
}

// ask hands e to the goroutine that owns the run. When no process of the run is
// left there is nothing to end, and only the loss of output still matters.
func (r *run) ask(e end) {
	select {
	case r.ends <- e:
	case <-r.over:
		r.loss(e.reason)
	}
}

// loss remembers the first output that could not be kept.
func (r *run) loss(reason paddock.Reason) {
	loss := slices.Contains([]paddock.ReasonKind{paddock.ReasonOutputLimit, paddock.ReasonDiskReserve, paddock.ReasonQuota, paddock.ReasonSink}, reason.Kind)
	r.mu.Lock()
	defer r.mu.Unlock()
	if loss && r.late == nil {
		r.late = &reason
	}
}

// why is the reason of the run: the first one, except that a program which
// ended by itself did not end well if what it printed could not be kept.
func (r *run) why() paddock.Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own := r.reason.Kind == paddock.ReasonExit || r.reason.Kind == paddock.ReasonSignal; own && r.late != nil {
		return *r.late
	}
	return *r.reason
}

func (r *run) supervise(ctx context.Context, conn net.Conn) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	doors, err := r.serve(serving, conn)
	if err != nil {
		r.hub.Close()
		return errors.Join(err, publish(ctx, r.job, r.dir, reason.FailedToStart("control socket", err, r.opt.Now()), r.opt))
	}
	outcome := r.live(ctx)
	pending := account.Prepare(ctx, r.job.Journal, r.journal, r.dir, outcome, r.opt.Now)
	r.cleaning.Wait() // who finds the outcome finds nothing of the run in the workspace
	kept, err := pending.Publish(ctx, r.opt.After)
	r.hub.Settle(outcome, kept)
	r.hub.Drain(time.Second)
	stop()
	return errors.Join(err, doors())
}

// serve opens the doors by which callers reach the run: its control socket,
// and the connection by which its job came. It returns what waits for them.
func (r *run) serve(ctx context.Context, conn net.Conn) (wait func() error, err error) {
	token, err := r.dir.Token()
	if err != nil {
		return nil, err
	}
	listener, err := control.Listen(r.job.RunDir)
	if err != nil {
		return nil, err
	}
	var serving sync.WaitGroup
	var served error
	serving.Go(func() { served = control.Serve(ctx, listener, handler{r}, token) })
	if conn != nil {
		serving.Go(func() {
			// The caller being gone is news only for a tied run.
			_ = control.ServeStarter(ctx, conn, handler{r}, r.job.Follows)
			if r.job.Tied {
				r.ask(end{paddock.Reason{Kind: paddock.ReasonCallerGone}, syscall.SIGTERM})
			}
		})
	}
	return func() error { serving.Wait(); return served }, nil
}

// live is the run from its start to the seal of its output.
func (r *run) live(ctx context.Context) paddock.Outcome {
	if r.opt.Ready == nil {
		r.opt.Ready = Begin(r.job, r.opt.Ahead)
	}
	held := r.opt.Ready
	clean := sync.OnceFunc(func() { r.cleaning.Go(func() { held.Release(r.gone) }) })
	defer clean()
	way, err := r.wayOut()
	if err != nil {
		close(r.over)
		return r.seal(reason.FailedToStart("way out", err, r.opt.Now()))
	}
	held.Make(r.files, r.opt.Places, way.CA())
	if err := held.Look(); err != nil {
		close(r.over)
		way.Close()
		return r.seal(reason.FailedToStart("containment", err, r.opt.Now()))
	}
	r.bounds = held.Bounds
	pumps, step, err := r.begun(held.Walls)
	if err != nil {
		close(r.over)
		way.Close()
		return r.seal(reason.FailedToStart(step, err, r.opt.Now()))
	}
	// A program of our own user must not be able to look into this process.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	heard := r.listen()
	r.recordStart(held.Cgroup, held.Plan.Enforced)
	r.open(way)
	r.journal = account.Open(ctx, r.job.Journal, r.opt.Now)
	places := append([]string{r.job.Root, r.job.Home}, r.job.Contain.Write...)
	go r.bounds.WatchDisk(written.New(r.job.Limits.Disk, places, r.opt.Now()), r.program.Holder(), r.opt.After, r.opt.Now, r.over, func(why paddock.Reason) {
		r.ask(end{why, syscall.SIGKILL}) // past its limit it gets no time to write more
	})
	exit := r.untilEmpty(ctx)
	ended := r.opt.Now()
	close(r.over) // before the pumps are waited for: they may want to ask
	pumps.Outside.Store(r.terminal.Finish(drainLimit))
	pumps.Drain(drainLimit)
	why := reason.With(r.why(), exit)
	outcome := paddock.Outcome{
		State:     reason.State(why.Kind),
		Reason:    why,
		Survivors: r.survivors,
		Denied:    r.hiding.Denials(slices.Concat(r.bounds.WithForks(r.denials(heard)), way.Close())),
		EndedAt:   ended, CPU: r.bounds.CPU(r.program.Took),
	}
	if r.survivors == 0 { // then the tree is gone, and what was found is known
		outcome.Leftovers, outcome.Survivors = r.program.End().Leftovers, r.program.End().Survivors
	}
	outcome.Deeper = held.Found(outcome.Survivors)
	if pumps.Outside.Load() {
		outcome.Reason.Detail = reason.Also(outcome.Reason.Detail, "a process outside of the run still held its output open")
	}
	clean() // the kernel takes its time for that, and so does a disk to sync
	return r.seal(outcome)
}

// gone returns when the kernel has taken away the run's mounts, or takes too long. To
// remove from the workspace what is in one of them takes longer.
func (r *run) gone() {
	if r.program == nil || r.survivors > 0 || r.job.Contain.Level != paddock.Full { // elsewhere none is in the workspace
		return
	}
	select {
	case <-r.program.Done():
	case <-r.opt.After(abandonAfter):
	}
}

// begun starts the program, in the next best way if need be; step is what failed.
func (r *run) begun(held *walls.Walls) (p *pipes.Pipes, step string, err error) {
	for again := true; again; {
		held.Plan.Enforced.Limits = r.bounds.Enforced(r.job.OpenFiles)
		failpoint.Here("program/start")
		if p, err = r.start(held.Plan); err == nil {
			failpoint.Here("program/started")
			return p, "", nil
		}
		step = "start"
		var failed *spawn.StartError
		if errors.As(err, &failed) {
			step, err = failed.Step, failed.Err
		}
		again, err = held.Again(step, err)
	}
	return nil, step, err
}

func (r *run) recordStart(cgroup string, enforced paddock.Enforced) {
	self, err := rundir.ProcessOf(os.Getpid())
	if err == nil {
		err = r.dir.WriteStarted(rundir.Started{
			Supervisor: self, At: r.opt.Now(), LeaderPID: r.program.Leader(),
			Namespace: process.Namespace(r.program.Leader()), Isolation: r.program.Isolation, Tree: r.program.Isolation.Tree(),
			Cgroup: cgroup, StageDigest: r.job.StageDigest, Protocol: control.Protocol, Enforced: enforced,
		})
	}
	if err != nil {
		r.begin(end{paddock.Reason{Kind: paddock.ReasonSink, Detail: "the start can't be recorded: " + err.Error()}, syscall.SIGTERM})
	}
	r.hub.Started(r.program.Leader(), r.program.Isolation)
}

// seal closes the output and completes the outcome with what was kept.
func (r *run) seal(outcome paddock.Outcome) paddock.Outcome {
	var err error
	outcome.Stdout, outcome.Stderr, err = r.bank.Seal()
	outcome.Stdout.Masked, outcome.Stderr.Masked = r.hiding.Masked(paddock.Stdout), r.hiding.Masked(paddock.Stderr)
	outcome.Stdout.Unkept, outcome.Stderr.Unkept = r.job.HasSink, r.job.HasSink
	if err != nil {
		outcome.State = paddock.Killed
		outcome.Reason = paddock.Reason{Kind: paddock.ReasonSink, ExitCode: outcome.Reason.ExitCode, Signal: outcome.Reason.Signal, Detail: err.Error()}
	}
	outcome.SettledAt = r.opt.Now()
	return outcome
}

// publish writes the outcome down and tells the journal.
func publish(ctx context.Context, job Job, dir *rundir.Dir, outcome paddock.Outcome, opt Options) error {
	opt.Ready.Close() // of a run that came to nothing; else it is by now
	_, err := account.Prepare(ctx, job.Journal, nil, dir, outcome, opt.Now).Publish(ctx, opt.After)
	return err
}
