package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/contain"
	"paddock/internal/executor/judge/facts"
	"paddock/internal/failpoint"
	"paddock/internal/heap"
	"paddock/internal/lineage"
	"paddock/internal/policy"
)

func main() {
	heap.Begin()
	os.Exit(run(lineage.System()))
}

// run is main with a status, so that tests can play this program.
func run(of lineage.Reader) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // what needs one says so; the runs are there all the same
	}
	d := &desk.Desk{
		Screen: screen.Screen{
			Out: os.Stdout, Err: os.Stderr, Terminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
			Getenv: os.Getenv, Now: failpoint.Clock(time.Now),
		},
		In: os.Stdin, Env: os.LookupEnv, Dir: dir, UID: os.Getuid(), Signals: endSignals,
		Lineage: of,
	}
	d.Levels = func() ([]paddock.Level, map[paddock.Level]string) {
		host := contain.Probe()
		return host.Levels(), host.Unavailable()
	}
	d.Content = facts.Content
	d.Open = func(ctx context.Context) (desk.Verbs, error) {
		if d.ServerURL() != "" {
			return elsewhere(d)
		}
		return house(ctx, d, d.State, source(d), 0)
	}
	d.Judge = func(ctx context.Context, state string, p *policy.Policy) (desk.Verbs, error) {
		return house(ctx, d, state, only{p}, 0)
	}
	return execute(context.Background(), d, os.Args[1:])
}

// endSignals catches what asks us to end. A broken pipe is caught as well, so
// that it arrives as an error of the write instead of ending us: the run goes
// on when nobody reads it any more. Caught, not ignored: what is ignored would
// be inherited by every program that is started.
func endSignals() (<-chan os.Signal, func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	// Two of a kind must not be lost while the first is being served.
	ends := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup, and jobs that a shell put into the background
			signal.Notify(ends, s)
		}
	}
	return ends, func() { signal.Stop(ends); signal.Stop(pipe) }
}
