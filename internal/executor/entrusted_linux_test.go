package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/approval"
)

// sayer writes a program that says value, and tells how a policy lists it for API.
func sayer(t *testing.T, name, value string) (program, secrets string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n: > \"$0.asked\"\necho "+value+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, "secrets: {API: {exec: [" + program + "], env_for: [sh]}}\n"
}

const printsAPI = "echo push; test \"$API\" = the-first-policys-own && echo ours"

// Who starts what a file's policy asked for asks the programs of that policy, and none
// of its own that say a secret of the same name.
func TestWhatLastsIsGivenTheSecretOfItsPolicy(t *testing.T) {
	t.Parallel()
	a, file := openLasting(t)
	_, first := sayer(t, "first", "the-first-policys-own")
	text := *a.policy.text.Load()
	write(t, file, text+first)
	for name, theirs := range map[string]string{"another program says it": "", "nobody says it": "none"} {
		t.Run(name, func(t *testing.T) {
			req := push(false)
			req.Command.Argv = []string{"sh", "-c", printsAPI, name}
			var run paddock.Run
			was := a.cfg.Policy
			defer func() { a.cfg.Policy = was }()
			a.cfg.Policy = PolicyFile(file)
			a.as(t, func(e *Executor) {
				var err error
				if run, err = e.Start(t.Context(), req); err != nil || run.State != paddock.Waiting {
					t.Fatalf("%+v, %v", run, err)
				}
			})
			a.vote(t, run.Approval, approval.Statement{Approve: true})
			other := text
			if theirs == "" {
				_, second := sayer(t, "second", "of-quite-another-policy")
				other += second
			}
			a.cfg.Policy = PolicyText("policy.yaml", []byte(other))
			a.as(t, func(e *Executor) {
				got, err := e.Wait(t.Context(), run.ID)
				if err != nil || got.State != paddock.Exited || got.Stdout.Bytes != int64(len("push\nours\n")) {
					t.Errorf("%+v %+v, %v", got, got.Outcome, err)
				}
			})
		})
	}
}

// A policy that changes between a request's judgement and the asking says nothing of
// which program is asked for it.
func TestAProviderIsThatOfTheJudgement(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	text := *a.policy.text.Load()
	ours, first := sayer(t, "first", "the-first-policys-own")
	theirs, second := sayer(t, "second", "of-quite-another-policy")
	a.cfg.Policy = a.policy
	a.policy.set(text + first)
	a.as(t, func(e *Executor) {
		req := push(false)
		req.Command.Argv = []string{"sh", "-c", strings.Replace(printsAPI, "push", "once", 1)}
		j := e.judge.Judge(t.Context(), req)
		defer j.Close()
		a.policy.set(text + second)
		if err := e.secrets.Ask(t.Context(), j.Decision.PolicyDigest, j); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(ours + ".asked"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(theirs + ".asked"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the policy that came meanwhile was asked, %v", err)
		}
	})
}

func (m *moody) set(text string) { m.text.Store(&text) }
