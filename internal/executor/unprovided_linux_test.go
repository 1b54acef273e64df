package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/approval"
)

// A program that says a secret is asked after the approval, right before the start. What
// it can't give then settles the run, says why and starts nothing; the approval is spent,
// since it was for one start, and what the program printed is told to nobody.
func TestWaitsAndItsSecretIsNotSaid(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"it fails":       "echo the-secret-half-said; echo the-secret-as-an-error >&2; exit 3",
		"it is ended":    "echo the-secret-half-said; kill -9 $$",
		"it says none":   "exit 0",
		"it says little": "echo the-s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, file := openLasting(t)
			marker := filepath.Join(filepath.Dir(a.cfg.State), "started")
			program := filepath.Join(t.TempDir(), "say")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n: > \"$0.asked\"\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, file, *a.policy.text.Load()+"secrets: {API: {exec: ["+program+"], env_for: [sh]}}\n")
			req := push(false)
			req.Command.Argv = []string{"sh", "-c", ": > " + marker + "; echo push"}
			var run paddock.Run
			a.as(t, func(e *Executor) {
				var err error
				if run, err = e.Start(t.Context(), req); err != nil || run.State != paddock.Waiting {
					t.Fatalf("%+v, %v", run, err)
				}
			})
			if _, err := os.Lstat(program + ".asked"); err == nil {
				t.Error("it is asked before the approval")
			}
			a.vote(t, run.Approval, approval.Statement{Approve: true})
			a.as(t, func(e *Executor) {
				got, err := e.Wait(t.Context(), run.ID)
				if err != nil || got.State != paddock.FailedToStart || got.StartedAt != nil || got.Stdout.Bytes != 0 {
					t.Fatalf("%+v, %v", got, err)
				}
				r := got.Outcome.Reason
				if r.Kind != paddock.ReasonStart || r.Step != "ask for the secrets" || !strings.Contains(r.Detail, "API") || strings.Contains(r.Detail, "the-s") {
					t.Errorf("the reason is %+v", r)
				}
				if got.Approval != run.Approval {
					t.Errorf("it names %s", got.Approval)
				}
			})
			if _, err := os.Lstat(program + ".asked"); err != nil {
				t.Error("it wasn't asked:", err)
			}
			if _, err := os.Lstat(marker); err == nil {
				t.Error("the program was started")
			}
			a.used(t, run.Approval, 1)
		})
	}
}
