//go:build linux

package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"paddock/runner"
)

// secretive has a program say the secret API_KEY for sh.
func secretive(dir string) (policy string) {
	policy, provider := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "say")
	text, err := os.ReadFile(policy)
	if err == nil {
		text := strings.Replace(string(text), "executables:\n", "executables:\n  - {name: sh, path: /bin/sh, args: any}\n", 1)
		text += fmt.Sprintf("secrets: {API_KEY: {exec: [%s], cache: 10m, env_for: [sh]}}\n", provider)
		err = os.WriteFile(policy, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(provider, []byte("#!/bin/sh\necho tok-Ahr3phie7Ohgho\n"), 0o700)
	}
	if err != nil {
		panic(err)
	}
	return policy
}

// A program gets a secret that another program says, and nobody is shown it.
func ExampleRunner_Start_secret() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, secretive(dir), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	run, err := r.Start(ctx, runner.Command{Argv: []string{"sh", "-c", "echo the key is $API_KEY"}})
	if err == nil {
		run, err = r.Wait(ctx, run.ID)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := r.Output(ctx, run.ID, runner.PageRequest{})
	fmt.Print(page.Content, run.Outcome.Stdout.Masked, " bytes are hidden, ", err, "\n")
	// Output:
	// the key is ******************
	// 18 bytes are hidden, <nil>
}

// A host program may read what is hidden; the journal says that it did.
func ExampleRunner_Output_unmasked() {
	dir, stage, remove := workspace()
	defer remove()
	ctx := context.Background()
	r, err := runner.Open(ctx, secretive(dir), runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage, Principal: "nightly"})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := r.Start(ctx, runner.Command{Argv: []string{"sh", "-c", "echo the key is $API_KEY"}})
	if err == nil {
		_, err = r.Wait(ctx, run.ID)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := r.Output(ctx, run.ID, runner.PageRequest{Unmasked: true})
	fmt.Print(page.Content)
	if err != nil || r.Close() != nil {
		fmt.Println(err)
		return
	}
	journal, err := os.ReadFile(filepath.Join(dir, "state", "journal", "000001.jsonl"))
	for line := range strings.Lines(string(journal)) {
		if _, what, read := strings.Cut(line, `"unmasked":`); read {
			told, _, _ := strings.Cut(what, "}")
			fmt.Println(strings.Contains(line, "nightly"), told+"}", err)
		}
	}
	// Output:
	// the key is tok-Ahr3phie7Ohgho
	// true {"stream":"stdout","from":0,"to":30} <nil>
}
