package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/executor/consent"
	"paddock/internal/policy/compiled/rule"
	"paddock/internal/rundir/record/durable/waiting"
)

// openLasting is openAsking with the policy in a file, as others find it too, and
// without anybody who looks after what waits but when the test says so.
func openLasting(t *testing.T) (a *asker, file string) {
	t.Helper()
	a = openAsking(t, func(c *Config) { c.Tick = make(chan time.Time) })
	text := *a.policy.text.Load()
	file = filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, text)
	a.cfg.Policy = PolicyFile(file)
	return a, file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	temp := file + ".new" // in one step, as editors do
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, file); err != nil {
		t.Fatal(err)
	}
}

// as does something in a process of its own, which is gone then.
func (a *asker) as(t *testing.T, do func(e *Executor)) {
	t.Helper()
	e, err := Open(t.Context(), a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	do(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// left asks for what waits, and is gone.
func (a *asker) left(t *testing.T) (run paddock.Run) {
	t.Helper()
	a.as(t, func(e *Executor) {
		var err error
		if run, err = e.Start(t.Context(), push(false)); err != nil || run.State != paddock.Waiting {
			t.Fatalf("%+v, %v", run, err)
		}
	})
	return run
}

func TestLastsAndIsStartedByTheApprover(t *testing.T) {
	t.Parallel()
	a, file := openLasting(t)
	run := a.left(t)
	dir, err := a.e.state.Run(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	a.as(t, func(e *Executor) { // who only looks starts and settles nothing
		if got, err := e.Run(t.Context(), run.ID); err != nil || got.State != paddock.Waiting {
			t.Errorf("%+v, %v", got, err)
		}
		active, err := e.Active(t.Context())
		if err != nil || len(active) != 1 || active[0].State != paddock.Waiting {
			t.Errorf("%+v, %v", active, err)
		}
		// It counts as one of those that go on.
		_, err = e.Start(t.Context(), paddock.Request{Principal: run.Principal, Door: paddock.DoorCLI, Command: paddock.Command{Argv: []string{"sh", "-c", "true"}}})
		code(t, err, paddock.Busy)
	})
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	// Another process, whose policy is another.
	a.cfg.Policy = a.policy
	a.as(t, func(e *Executor) {
		got, err := e.Wait(t.Context(), run.ID)
		if err != nil || got.State != paddock.Exited || got.Stdout.Bytes != int64(len("push\n")) {
			t.Errorf("%+v, %v; the policy is %s", got, err, file)
		}
	})
	if there, err := waiting.Is(dir.Path()); there || err != nil {
		t.Errorf("what it was started by is still there, %v", err)
	}
	a.used(t, run.Approval, 1)
}

// Whoever is killed between the use and the start has used it for this run, which
// anybody may go on with.
func TestLastsOverACrashAfterTheUse(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	desk := a.e.Consent()
	j := a.e.judge.Rejudge(t.Context(), push(false))
	defer j.Close()
	c, err := desk.Consented(t.Context(), j, true)
	if err != nil {
		t.Fatal(err)
	}
	// Of the moody policy's digest, which is the file's.
	if err := desk.Use(t.Context(), c, run.ID); err != nil {
		t.Fatal(err)
	}
	a.as(t, func(e *Executor) {
		if got, err := e.Wait(t.Context(), run.ID); err != nil || got.State != paddock.Exited {
			t.Errorf("%+v, %v", got.Outcome, err)
		}
	})
	a.used(t, run.Approval, 1)
}

// A use whose run was denied before it started is spent on nothing, and the run says
// who denied it.
func TestLastsAndIsDeniedAfterTheUse(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true, Uses: 2})
	j := a.e.judge.Rejudge(t.Context(), push(false))
	defer j.Close()
	c, err := a.e.Consent().Consented(t.Context(), j, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.e.Consent().Use(t.Context(), c, run.ID); err != nil {
		t.Fatal(err)
	}
	a.vote(t, run.Approval, approval.Statement{Reason: "no"})
	a.as(t, func(*Executor) {})
	a.ended(t, run.ID, paddock.RefusedState, paddock.ReasonDenied)
}

func TestLastsAndEnds(t *testing.T) {
	for name, it := range map[string]struct {
		happens func(t *testing.T, a *asker, file string, run paddock.Run)
		state   paddock.State
		kind    paddock.ReasonKind
	}{
		"killed": {func(t *testing.T, a *asker, _ string, run paddock.Run) {
			if got, err := a.e.Kill(t.Context(), run.ID, Ending{By: "somebody"}); err != nil || got.State != paddock.Killed {
				t.Errorf("%+v, %v", got, err)
			}
			a.vote(t, run.Approval, approval.Statement{Approve: true})
		}, paddock.Killed, paddock.ReasonKill},
		"denied": {func(t *testing.T, a *asker, _ string, run paddock.Run) {
			a.vote(t, run.Approval, approval.Statement{Reason: "no"})
		}, paddock.RefusedState, paddock.ReasonDenied},
		"expired": {func(_ *testing.T, a *asker, _ string, _ paddock.Run) {
			a.ahead.Store(int64(2 * time.Hour))
		}, paddock.RefusedState, paddock.ReasonExpired},
		"the policy changed": {func(t *testing.T, a *asker, file string, run paddock.Run) {
			write(t, file, *a.policy.text.Load()+"# another\n")
			a.vote(t, run.Approval, approval.Statement{Approve: true})
		}, paddock.RefusedState, paddock.ReasonChanged},
		"what it is started by is another's": {func(t *testing.T, a *asker, _ string, run paddock.Run) {
			dir, err := a.e.state.Run(run.ID)
			if err == nil {
				var text []byte
				text, err = waiting.Kept(dir.Path())
				err = errors.Join(err, waiting.Keep(dir.Path(), []byte(strings.Replace(string(text), "echo push", "echo more push", 1))))
			}
			if err != nil {
				t.Fatal(err)
			}
			a.vote(t, run.Approval, approval.Statement{Approve: true})
		}, paddock.RefusedState, paddock.ReasonChanged},
		"what it is started by is damaged": {func(t *testing.T, a *asker, _ string, run paddock.Run) {
			dir, err := a.e.state.Run(run.ID)
			if err == nil {
				err = waiting.Keep(dir.Path(), []byte("{\x00\xff}"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}, paddock.RefusedState, paddock.ReasonChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, file := openLasting(t)
			run := a.left(t)
			it.happens(t, a, file, run)
			a.as(t, func(*Executor) {})
			a.ended(t, run.ID, it.state, it.kind)
			a.used(t, run.Approval, 0)
			dir, err := a.e.state.Run(run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if there, err := waiting.Is(dir.Path()); there || err != nil {
				t.Errorf("what it was to be started by is still there, %v", err)
			}
		})
	}
}

// As long as its policy can't be read it waits on.
func TestLastsWhileThePolicyIsBroken(t *testing.T) {
	t.Parallel()
	a, file := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	good := *a.policy.text.Load()
	write(t, file, good+"nonsense: [\n")
	a.cfg.Policy = PolicyFile(file) // which has not seen it before
	a.as(t, func(e *Executor) {
		if got, err := e.Run(t.Context(), run.ID); err != nil || got.State != paddock.Waiting {
			t.Errorf("%+v, %v", got, err)
		}
	})
	write(t, file, good)
	a.as(t, func(e *Executor) {
		if got, err := e.Wait(t.Context(), run.ID); err != nil || got.State != paddock.Exited {
			t.Errorf("%+v, %v", got.Outcome, err)
		}
	})
	a.used(t, run.Approval, 1)
}

// unjudged is what a program judges that has no CEL, by a policy with rules.
type unjudged struct{ consent.Judgement }

func (unjudged) Asks() bool    { return false }
func (unjudged) Allows() error { return fmt.Errorf("%w: %w", paddock.ErrFault, rule.ErrElsewhere) }
func (unjudged) Close()        {}

// Who can't judge by rules says so, leaves the run as it is, and keeps nobody from it.
func TestLastsForWhoCanJudge(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	j := a.e.judge.Rejudge(t.Context(), push(false))
	defer j.Close()
	c, err := a.e.Consent().Consented(t.Context(), j, true)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := a.e.state.Run(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := waiting.Take(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir.Hold(lock)
	quick := consent.Attendant{Desk: a.e.Consent(), Dir: dir, Case: c, Lasts: true, Judge: func(context.Context) consent.Judgement { return unjudged{} }}
	if err := quick.Once(t.Context()); !errors.Is(err, rule.ErrElsewhere) {
		t.Errorf("who can't judge says %v", err)
	}
	if got, err := a.e.Run(t.Context(), run.ID); err != nil || got.State != paddock.Waiting {
		t.Errorf("%+v, %v", got, err)
	}
	a.as(t, func(e *Executor) {
		if got, err := e.Wait(t.Context(), run.ID); err != nil || got.State != paddock.Exited {
			t.Errorf("%+v, %v", got.Outcome, err)
		}
	})
	a.used(t, run.Approval, 1)
}

// Of many processes that find it approved at once, one starts it.
func TestLastsAndManyFindItApproved(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	others := make([]*Executor, 4)
	ctx := context.WithoutCancel(t.Context())
	var all sync.WaitGroup
	for i := range others {
		all.Go(func() {
			var err error
			if others[i], err = Open(ctx, a.cfg); err != nil {
				t.Error(err)
				return
			}
			others[i].Resume(ctx)
			if got, err := others[i].Wait(ctx, run.ID); err != nil || got.State != paddock.Exited || got.Stdout.Bytes != int64(len("push\n")) {
				t.Errorf("%+v, %v", got.Outcome, err)
			}
		})
	}
	all.Wait()
	for _, e := range others {
		if e == nil {
			continue
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	a.used(t, run.Approval, 1)
}

// The variables are those of who asked, whoever starts it; and only the owner can read
// them meanwhile.
func TestLastsWithTheVariablesOfWhoAsked(t *testing.T) {
	t.Parallel()
	a, file := openLasting(t)
	text := strings.Replace(*a.policy.text.Load(), "rules:", "environment: {pass: [LANG], accept: {CI: <word>}}\nrules:", 1)
	write(t, file, text)
	set := a.cfg
	a.cfg.HostEnv = func(string) (string, bool) { return "de_DE", true }
	var run paddock.Run
	a.as(t, func(e *Executor) {
		req := push(false)
		req.Command.Argv[2] = "echo push $LANG $CI"
		req.Command.Env = map[string]string{"CI": "yes"}
		var err error
		if run, err = e.Start(t.Context(), req); err != nil || run.State != paddock.Waiting {
			t.Fatalf("%+v, %v", run, err)
		}
	})
	dir, err := a.e.state.Run(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir.Path(), waiting.Name))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	a.cfg = set
	a.cfg.HostEnv = func(string) (string, bool) { return "en_US", true }
	a.as(t, func(e *Executor) {
		got, err := e.Wait(t.Context(), run.ID)
		if err != nil || got.State != paddock.Exited {
			t.Fatalf("%+v, %v", got.Outcome, err)
		}
		page, err := e.Output(t.Context(), run.ID, paddock.PageRequest{Stream: paddock.Stdout, Limit: 100})
		if err != nil || page.Content != "push de_DE yes\n" {
			t.Errorf("%q, %v", page.Content, err)
		}
	})
}

// Who starts nothing says so, whoever asks, and leaves what was approved to others.
func TestIdle(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	a.cfg.Idle = true
	a.as(t, func(e *Executor) {
		_, err := e.Start(t.Context(), push(false))
		code(t, err, paddock.NoWorker)
		e.Resume(t.Context())
		if got, err := e.Run(t.Context(), run.ID); err != nil || got.State != paddock.Waiting {
			t.Errorf("%+v, %v", got, err)
		}
	})
	a.cfg.Idle = false
	a.as(t, func(e *Executor) {
		if got, err := e.Wait(t.Context(), run.ID); err != nil || got.State != paddock.Exited {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
