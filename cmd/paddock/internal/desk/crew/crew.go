// Package crew has what carries out runs by a queue: the server's own worker, and
// paddock worker.
//
// # Limits
//
// It opens no database, since the drivers cost every command: who does hands it in.
package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/contain/filter/bpf/noexec"
	"paddock/internal/dispatch"
	workers "paddock/internal/dispatch/machine"
	"paddock/internal/dispatch/rows/agree"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/putback"
	"paddock/internal/lease/order/warrant"
	"paddock/internal/relay/asking"
	"paddock/internal/store"
	"paddock/internal/trace"
	"paddock/internal/trace/wanted"
)

// Hints calls heard with a store's hints until ctx ends or that fails.
type Hints = func(ctx context.Context, heard func(string)) error

// A Queue is a store with what closes it.
type Queue interface {
	store.Queue
	putback.Lister
	Close() error
}

// A Rig is what the program hands in.
type Rig struct {
	// Become goes on as the server's program; it returns only an error.
	Become func() error
	// Open opens the database whose address is in a file; nil where this program has no
	// drivers.
	Open func(ctx context.Context, file string) (Queue, Hints, error)
	// House puts an executor together over the state directory, that starts nothing
	// without a workspace where some are.
	House   func(ctx context.Context, apart ...string) (*executor.Executor, error)
	Version string
	// Traces begins to send traces, where some are wanted; nil where this program can't.
	Traces wanted.Open
}

// A Server is what a server's queue is made of.
type Server struct {
	Executor *executor.Executor
	App      *app.App
	Store    dispatch.Store
	Hints    Hints // nil where the store is in the state directory
	Idle     bool  // only queues
	Runs     int64
	Times    lease.Times
	// PerAccount is how many runs of one account there may be on workers; 0 is any number.
	PerAccount int64
	// PerWorkspace likewise, of one workspace; Spaces are the roots in which those are.
	PerWorkspace int64
	Spaces       []string
	// Elsewhere reaches the runs of other workers.
	Elsewhere dispatch.Elsewhere
	// Gives has workers asked what warrants they want.
	Gives   func(*asking.Giver)
	Version string
	Traces  *trace.Tracer
}

// Serve begins a server's queue.
func Serve(ctx context.Context, d *desk.Desk, s Server) (*dispatch.Service, error) {
	path := filepath.Join(s.Executor.StateDir(), order.Key)
	key, made, err := sign.LoadOrCreate(path)
	if err != nil {
		return nil, desk.Usage("the key that orders are signed with: "+err.Error(), "")
	}
	if made && s.Hints != nil {
		d.Say("note", "orders are signed with "+path+"; workers follow them that have "+path+".pub among their orders")
	}
	nonces, err := order.NoncesIn(s.Executor.StateDir())
	if err != nil {
		return nil, err
	}
	m := machine(d, s.Executor)
	rows := putback.Server(s.Store, order.Signer(&key.Public), s.Hints == nil)
	if m.Beside, err = kept(ctx, d, nonces, rows, m.Warn); err != nil {
		return nil, err
	}
	m.Beside = looking(m.Beside, d, s, m.Warn, workers.WorkerOf(&key.Public))
	s.Gives(&asking.Giver{Giver: &warrant.Giver{Key: key, Nonces: nonces, Now: d.Now}, Warn: m.Warn})
	m.Version, m.Capacity, m.Alone, m.Hints, m.Times, m.Traces = s.Version, s.Runs, s.Hints == nil, s.Hints, s.Times, s.Traces
	m.Limits.Owner, m.Limits.Workspace, m.Spaces = s.PerAccount, s.PerWorkspace, s.Spaces
	return dispatch.Open(ctx, s.App, s.Store, key, m, s.Idle, s.Elsewhere)
}

// looking looks whether store and records agree, beside whatever else is done, and says so
// where they don't: that one of both was put back is seen nowhere else before somebody misses
// a run.
func looking(beside func(context.Context), d *desk.Desk, s Server, warn func(error), who store.WorkerID) func(context.Context) {
	return func(ctx context.Context) {
		var look sync.WaitGroup
		defer look.Wait()
		look.Go(func() {
			said, err := agree.Glance(ctx, agree.Config{Store: s.Store, Worker: who, Now: d.Now}, s.Executor.StateDir())
			switch {
			case err != nil && ctx.Err() == nil:
				warn(fmt.Errorf("looking whether the database and the records of runs agree: %w", err))
			case said != "" && err == nil:
				d.Say("warning", said)
			}
		})
		beside(ctx)
	}
}

// kept looks whether the notes of orders that were followed were put back, and returns what
// keeps them.
func kept(ctx context.Context, d *desk.Desk, n *order.Nonces, rows putback.Rows, warn func(error)) (func(context.Context), error) {
	gap, err := putback.Check(ctx, n, rows, d.Now())
	if err != nil {
		return nil, err
	}
	if gap != nil {
		d.Say("warning", gap.String())
	}
	ahead, err := putback.Ahead(n, d.Now())
	if err != nil {
		return nil, err
	}
	if ahead != "" {
		d.Say("warning", ahead)
	}
	return func(ctx context.Context) { putback.Keep(ctx, n, d.Now, warn) }, nil
}

// WorkerOf is the worker of a server that has this state directory; none where no server
// began since it was made, or restored.
func WorkerOf(state string) (store.WorkerID, error) {
	key, err := sign.LoadPublic(filepath.Join(state, order.Key+".pub"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", desk.Usage("the key that orders are signed with: "+err.Error(), "")
	}
	return workers.WorkerOf(key), nil
}

// Renounce has a server that is idle give up the right to start programs, once all is done
// that needs it: whoever gets hold of it has it neither.
func Renounce(d *desk.Desk, idle bool) error {
	if !idle {
		return nil
	}
	err := noexec.GiveUp()
	if errors.Is(err, errors.ErrUnsupported) {
		d.Say("note", err.Error())
		return nil
	}
	return err
}

func machine(d *desk.Desk, e *executor.Executor) dispatch.Machine {
	return dispatch.Machine{Executor: e, Now: d.Now, Warn: func(err error) {
		if !errors.Is(err, context.Canceled) {
			d.Say("warning", err.Error())
		}
	}}
}

// Command is paddock worker.
func Command(d *desk.Desk, rig Rig) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out runs that servers queue",
		Long: `Take runs from the queue of servers with a PostgreSQL database, and carry them out on
this machine, under the policy that applies here.

A worker follows what a server signed whose key its configuration names, and nothing
that stands in the database beside it. When it is asked to end it takes no more runs;
those that it has go on for a minute, in which the next process of the worker takes
them up again. docs/workers.md has the configuration file and the rights that the
worker's database user needs.`,
		Example: `  paddock worker --config /etc/paddock/worker.yaml`,
		Args:    desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := read(d, file)
			if err != nil {
				return err
			}
			if rig.Open == nil {
				return rig.Become()
			}
			return work(cmd.Context(), d, rig, s)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE` (default "+System+")")
	if err := cmd.MarkFlagFilename("config", "yaml", "yml"); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// work carries out runs until we are asked to end, or are drained.
func work(ctx context.Context, d *desk.Desk, rig Rig, s settings) (err error) {
	ctx, cancel := UntilAsked(ctx, d)
	defer cancel()
	queue, hints, err := reach(ctx, d, rig, s.postgres)
	if err != nil || queue == nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	e, err := rig.House(ctx, s.spaces...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	traces, err := rig.Traces(ctx, s.traces, Sender(d, "paddock-worker", rig.Version))
	if err != nil {
		return desk.Usage(err.Error(), "docs/operations.md tells of traces")
	}
	defer traces.Close()
	m := machine(d, e)
	m.Traces = traces.Tracer
	m.ID, m.Labels, m.Capacity, m.Version, m.Keys, m.Hints, m.Times = s.id, s.labels, s.capacity, rig.Version, s.keys, hints, s.times
	m.Waits, m.Limits.Owner, m.Limits.Workspace = s.waits, s.account, s.workspace
	d.Say("note", "worker "+string(s.id)+" takes runs from the queue")
	wants := asking.NewDesk(string(s.id), s.keys...)
	if m.Signers = wants; s.sole {
		m.Signers = lease.Sole{}
		if err := alone(ctx, d, &m, queue); err != nil {
			return err
		}
	}
	linked := link(ctx, d, s, e, wants)
	defer linked()
	err = m.Work(ctx, queue)
	switch {
	case err == nil:
		d.Say("note", "drained: no run is left here")
	case ctx.Err() != nil:
		err = nil // runs go on until their leases are over, or we are back
	case errors.Is(err, store.ErrFenced):
		err = desk.Usage("another process is worker "+string(s.id)+" now, or an admin removed it", "a worker has one process, and an id of its own")
	}
	return err
}

// alone is for a worker whose own notes are all there are of its orders.
func alone(ctx context.Context, d *desk.Desk, m *dispatch.Machine, queue Queue) error {
	nonces, err := order.NoncesIn(m.Executor.StateDir())
	if err == nil {
		m.Beside, err = kept(ctx, d, nonces, putback.Worker(queue, m.ID), m.Warn)
	}
	return err
}

// reach opens the queue, as soon as the database is there: a worker that begins while it is
// away has runs to take up, perhaps, and little time for it. Nil is that we were asked to
// end meanwhile.
func reach(ctx context.Context, d *desk.Desk, rig Rig, file string) (Queue, Hints, error) {
	for said := false; ; said = true {
		queue, hints, err := rig.Open(ctx, file)
		switch {
		case err == nil:
			return queue, hints, nil
		case ctx.Err() != nil:
			return nil, nil, nil //nolint:nilerr // we were asked to end
		case !errors.Is(err, store.ErrAway):
			return nil, nil, fmt.Errorf("the queue: %w", err)
		case !said:
			d.Say("warning", "the queue: "+err.Error()+"; it is tried again until it is there")
		}
		select {
		case <-ctx.Done():
			return nil, nil, nil
		case <-time.After(again):
		}
	}
}

// again is how long a worker waits that finds no database.
const again = 500 * time.Millisecond

// Sender is this process, as those who collect traces know it.
func Sender(d *desk.Desk, service, version string) wanted.Sender {
	return wanted.Sender{Service: service, Version: version, Env: d.Env, Now: d.Now, Warn: func(err error) { d.Say("warning", err.Error()) }}
}

// UntilAsked returns a context that ends when we are asked to.
func UntilAsked(ctx context.Context, d *desk.Desk) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, restore := d.Signals()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); restore() }
}
