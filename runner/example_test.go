//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
	"paddock/runner"
)

// workspace makes what the examples need: a directory with a policy, and the
// supervisor, which an installed Paddock has beside it.
func workspace() (dir, stage string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "desk"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "policy.yaml"), fmt.Appendf(nil, `version: 1
roots: [{path: %s/desk}]
executables:
  - name: echo
    path: /bin/echo
    args: [{allow: [hello, ...]}]
  - name: sleep
    path: /bin/sleep
    args: [{allow: [<int>]}]
limits: {timeout: 1m}
containment: {require: off}
`, dir), 0o600)
	}
	if err != nil {
		panic(err)
	}
	return dir, testproc.Build(builder{}, "paddock/cmd/paddock-stage"), func() { _ = os.RemoveAll(dir) }
}

// builder stands in for a test where there is none.
type builder struct{ testing.TB }

func (builder) Helper()                      {}
func (builder) Context() context.Context     { return context.Background() }
func (builder) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (builder) Fatalf(form string, a ...any) { panic(fmt.Sprintf(form, a...)) }

func Example() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{
		StateDir: filepath.Join(dir, "state"),
		Stage:    stage,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	run, err := r.Start(ctx, runner.Command{Argv: []string{"echo", "hello", "world"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err = r.Wait(ctx, run.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := r.Output(ctx, run.ID, runner.PageRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.State, *run.Outcome.Reason.ExitCode)
	fmt.Printf("%q, and that is all: %v\n", page.Content, page.EOF)
	// Output:
	// exited 0
	// "hello world\n", and that is all: true
}

// A request that isn't allowed gives a Refusal, which says what to do.
func ExampleRunner_Start_refused() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	_, err = r.Start(ctx, runner.Command{Argv: []string{"echo hello && rm -rf /"}})
	var refusal *runner.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code)
		fmt.Println(refusal.Suggestion.Argvs)
	}
	// Output:
	// shell_syntax
	// [[echo hello] [rm -rf /]]
}

// What is used up is said with the time at which some is free again.
func ExampleRunner_Start_quota() {
	dir, stage, remove := workspace()
	defer remove()
	ctx, policy := context.Background(), filepath.Join(dir, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err == nil {
		err = os.WriteFile(policy, append(text, "quotas: {principal: {runs_per_day: 1}}\n"...), 0o600)
	}
	if err != nil {
		panic(err)
	}
	r, err := runner.Open(ctx, policy, runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer func() { _ = r.Close() }()
	for range 2 {
		run, err := r.Start(ctx, runner.Command{Argv: []string{"echo", "hello"}})
		if refusal, ok := errors.AsType[*runner.Refusal](err); ok {
			message, _, _ := strings.Cut(refusal.Message, "; some is free again at ")
			fmt.Println(refusal.Code, message)
		} else if _, err = r.Wait(ctx, run.ID); err != nil {
			panic(err)
		}
	}
	// Output:
	// quota_exceeded `quotas.principal.runs_per_day`: 1 of 1 runs were started in a day
}

// The host program has the last word.
func ExampleOptions_hook() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{
		StateDir: filepath.Join(dir, "state"),
		Stage:    stage,
		Hook: func(_ context.Context, req runner.HookRequest) error {
			if len(req.Grant.Argv) > 2 {
				return errors.New("One word is enough.")
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	_, err = r.Start(ctx, runner.Command{Argv: []string{"echo", "hello", "world"}})
	fmt.Println(err)
	// Output:
	// rule_denied: One word is enough.
}

// Killing a run ends its whole process tree; the record says who asked and why.
func ExampleRunner_Kill() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{
		StateDir: filepath.Join(dir, "state"), Stage: stage, Principal: "nightly",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	run, err := r.Start(ctx, runner.Command{Argv: []string{"sleep", "1000"}, Timeout: 30 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err = r.Kill(ctx, run.ID, runner.TERM, "took too long"); err != nil {
		fmt.Println(err)
		return
	}
	run, err = r.Wait(ctx, run.ID) // Kill waits some seconds at most
	if err != nil {
		fmt.Println(err)
		return
	}
	reason := run.Outcome.Reason
	fmt.Println(run.State, reason.Kind == paddock.ReasonKill)
	fmt.Printf("%s: %s\n", reason.By, reason.Why)
	// Output:
	// killed true
	// nightly: took too long
}

// What leads to runs can be made again out of the runs.
func ExampleRebuildState() {
	dir, stage, remove := workspace()
	defer remove()
	ctx, state := context.Background(), filepath.Join(dir, "state")
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: state, Stage: stage})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	command := runner.Command{Argv: []string{"echo", "hello", "once"}, IdempotencyKey: "nightly"}
	first, err := r.Start(ctx, command)
	if err == nil {
		_, err = r.Wait(ctx, first.ID)
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	// Somebody's script was too eager.
	if err := os.RemoveAll(filepath.Join(state, "keys")); err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.CheckState(ctx, state, runner.StateOptions{}, func(f runner.StateFinding) error {
		fmt.Println(f.Kind, f.Detail)
		return nil
	})
	if err == nil {
		_, err = runner.RebuildState(ctx, state, func(runner.StateChange) error { return nil })
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := r.Start(ctx, command)
	fmt.Println(again.ID == first.ID, err)
	// Output:
	// index it is missing: its idempotency key doesn't lead to it
	// true <nil>
}

// What a host has to say is kept beside what programs print, and read in the same
// way.
func ExampleRunner_BankArtifact() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer func() { _ = r.Close() }()
	report, err := r.BankArtifact(ctx, "report of the review", []byte("Nothing was found.\n"))
	if err != nil {
		panic(err)
	}
	page, err := r.ReadArtifact(ctx, report.ID, runner.PageRequest{})
	fmt.Print(report.Label, ": ", page.Content, err)
	// Output:
	// report of the review: Nothing was found.
	// <nil>
}
