package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"paddock/internal/policy"
)

func main() { os.Exit(run()) }

// run is main with a status, so that tests can play this program.
func run() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "paddock: error: the working directory can't be found: %v\n", err)
		return exitFault
	}
	o := &outside{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		terminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
		env: os.LookupEnv, dir: dir, uid: os.Getuid(), now: time.Now,
		signals: endSignals,
	}
	o.open = func(ctx context.Context, s settings) (verbs, error) { return o.house(ctx, s, o.source(s), 0) }
	o.judge = func(ctx context.Context, s settings, p *policy.Policy) (verbs, error) {
		return o.house(ctx, s, only{p}, 0)
	}
	return execute(context.Background(), o, os.Args[1:])
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
