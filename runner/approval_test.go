//go:build linux

package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/approval"
	"paddock/internal/journal/sign"
	"paddock/runner"
)

// A rule asks, a person elsewhere reads what would run and signs it, and the run
// starts.
func ExampleRunner_Vote() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()

	// What `paddock approve key` does.
	key, err := sign.Create(filepath.Join(dir, "key"))
	if err != nil {
		panic(err)
	}
	policy, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
	if err != nil {
		panic(err)
	}
	policy = fmt.Appendf(policy, "rules: [{name: twice, ask: argv.size() > 2}]\napprovals: {keys: [{name: anna, key: %q}]}\n", approval.KeyText(&key.Public))

	r, err := runner.Open(ctx, "policy.yaml", runner.Options{PolicyText: policy, StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	run, err := r.Start(ctx, runner.Command{Argv: []string{"echo", "hello", "again"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(run.State)

	// What `paddock approve sign --yes` does.
	question, err := r.Question(ctx, run.Approval)
	if err != nil {
		panic(err)
	}
	asked, err := approval.Read(question)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	vote, err := approval.Sign(key, asked, approval.Statement{By: "anna", Approve: true, At: now, Uses: 1, Until: now.Add(time.Minute)})
	if err != nil {
		panic(err)
	}

	if _, err := r.Vote(ctx, run.Approval, vote); err != nil {
		panic(err)
	}
	run, err = r.Wait(ctx, run.ID)
	if err != nil {
		panic(err)
	}
	fmt.Println(run.State, run.Stdout.Bytes)
	// Output:
	// waiting
	// exited 12
}
