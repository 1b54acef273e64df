// Command paddock-demo shows in a minute what Paddock does. It plays the two
// people of the story: an operator who proposes a policy for a scratch copy of
// this module, and the host of an agent, which starts `paddock mcp` and talks to
// it as a coding agent would. Nothing of it is scripted: what it prints is what
// came back.
//
// It is never installed, and nothing of Paddock depends on it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == stubborn {
		beStubborn()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "paddock-demo: error:", err)
		os.Exit(1)
	}
}

// stubborn is the word that makes this program one that won't end when asked.
const stubborn = "stubborn"

func beStubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("I ignore SIGTERM.")
	for range time.Tick(time.Hour) { // a bare select would be found dead by the runtime
	}
}

// demo tells the story, and cleans up whatever happens.
func demo(ctx context.Context) (err error) {
	began := time.Now()
	s, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.clear()) }()
	fmt.Print(opening)
	if err := s.operator(ctx); err != nil {
		return err
	}
	a, err := s.connect(ctx)
	if err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{a.asksForShell, a.works, a.readsBack, a.ends} {
		if err := scene(ctx); err != nil {
			return errors.Join(err, a.leave())
		}
	}
	if err := a.leave(); err != nil {
		return err
	}
	if err := s.lookBack(ctx); err != nil {
		return err
	}
	fmt.Printf(closing, time.Since(began).Seconds(), filepath.Dir(s.paddock))
	return nil
}

const opening = `Paddock: let agents run, not loose.
The project is a scratch copy of this module; state and policy are in a temporary directory.
`

const closing = `
That took %.0f seconds, and everything is cleaned up. In your own project, type next:

    export PATH=%s:$PATH
    paddock policy init                     propose a policy, then read it
    paddock policy explain -- make test     ask it a question, gate by gate
    paddock run -- go vet ./...             run something under it
    claude mcp add paddock -- paddock mcp   let an agent in (README.md has the others)
`
