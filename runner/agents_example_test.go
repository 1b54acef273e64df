//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock"
	"paddock/runner"
)

// A host that gives an agent a plan can ask whether it is finished.
func ExampleRunner_Tasks() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := r.CreateTasks(ctx, "", "read the code", "write a test"); err != nil {
		panic(err)
	}
	if _, err := r.UpdateTask(ctx, runner.TaskChange{ID: "t1", Status: runner.TaskDone}); err != nil {
		panic(err)
	}
	plan, err := r.Tasks(ctx)
	fmt.Println(len(plan.Items), plan.Counts[runner.TaskDone], plan.Complete, err)
	// Output: 2 1 false <nil>
}

// What a delegate is to work with is kept for it: it reads that with retrieve_context, and
// nobody else does.
func ExampleRunner_BankArtifactFor() {
	dir, stage, remove := workspace()
	defer remove()
	text := fmt.Sprintf("version: 1\nroots: [{path: %s/desk}]\nexecutables: []\ncontainment: {require: off}\nlaunch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/cat}}}\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		panic(err)
	}
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer func() { _ = r.Close() }()
	d, err := r.Delegate(ctx, runner.DelegateTask{Task: "read what is kept for you"})
	if err != nil {
		panic(err)
	}
	kept, err := r.BankArtifactFor(ctx, d, "the log of the build", []byte("it failed in line 7\n"))
	if err != nil {
		panic(err)
	}
	_, err = r.ReadArtifact(ctx, kept.ID, runner.PageRequest{})
	var refusal *runner.Refusal
	fmt.Println(kept.Bytes, errors.As(err, &refusal) && refusal.Code == paddock.NotFound)
	// Output: 20 true
}

// A task is given, its result comes as often as it is asked for, and is acknowledged.
func ExampleRunner_Delegate() {
	dir, stage, remove := workspace()
	defer remove()
	text := fmt.Sprintf("version: 1\nroots: [{path: %s/desk}]\nexecutables: []\ncontainment: {require: off}\nlaunch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/sh}}}\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		panic(err)
	}
	ctx := context.Background()
	r, err := runner.Open(ctx, filepath.Join(dir, "policy.yaml"), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer func() { _ = r.Close() }()
	d, err := r.Delegate(ctx, runner.DelegateTask{Task: "echo all is well"})
	if err != nil {
		panic(err)
	}
	for {
		got, err := r.CollectDelegates(ctx, runner.Collect{ID: d.ID, Wait: paddock.MaxWait})
		if err != nil {
			panic(err)
		}
		if !got.TimedOut {
			fmt.Print(got.Completed[0].Result.Status, ": ", got.Completed[0].Result.Summary)
			break
		}
	}
	got, err := r.CollectDelegates(ctx, runner.Collect{Acknowledge: []string{d.ID}})
	fmt.Println(len(got.Acknowledged), err)
	// Output:
	// completed: all is well
	// 1 <nil>
}
