package executor

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/executor/judge/source"
	"paddock/internal/journal/sign"
	"paddock/internal/policy"
	"paddock/internal/testproc"
)

const askingPolicy = permissive + `rules: [{name: ask-me, ask: "argv.exists(a, a.contains('push'))"}]
limits: {concurrent: 1}
approvals: {keys: [{name: anna, key: "KEY"}], uses: 2}
`

// moody is a policy that can change.
type moody struct {
	text atomic.Pointer[string]
}

func (m *moody) Load() (*policy.Policy, error) {
	return source.Text("policy.yaml", []byte(*m.text.Load())).Load()
}

// asker is an executor whose policy asks, and a person who approves.
type asker struct {
	*fixture
	key    *sign.Key
	policy *moody
	ahead  atomic.Int64 // of the clock
	cfg    Config
}

func openAsking(t *testing.T, more ...func(*Config)) *asker {
	t.Helper()
	a := &asker{policy: &moody{}}
	var err error
	if a.key, err = sign.Create(filepath.Join(t.TempDir(), "key")); err != nil {
		t.Fatal(err)
	}
	a.fixture = open(t, func(c *Config) {
		text := strings.NewReplacer("ROOT", filepath.Dir(c.State), "KEY", approval.KeyText(&a.key.Public)).Replace(askingPolicy)
		a.policy.text.Store(&text)
		c.Policy, c.Now = a.policy, func() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }
		c.Stage = testproc.Build(t, "paddock/cmd/paddock-stage")
		for _, change := range more {
			change(c)
		}
		a.cfg = *c
	})
	return a
}

func push(tied bool, words ...string) paddock.Request {
	return paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Agent, ID: "agent:one"}, Door: paddock.DoorCLI, Tied: tied,
		Command: paddock.Command{Argv: append([]string{"sh", "-c", "echo push"}, words...)},
	}
}

// vote signs by s what waits.
func (a *asker) vote(t *testing.T, id paddock.ApprovalID, s approval.Statement) {
	t.Helper()
	one, err := a.e.Consent().Get(id)
	if err != nil {
		t.Fatal(err)
	}
	s.By, s.At = "operator:uid=7", a.cfg.Now()
	if s.Approve {
		s.Uses, s.Until = max(1, s.Uses), s.At.Add(time.Minute)
	}
	envelope, err := approval.Sign(a.key, one, s)
	if err == nil {
		_, err = a.e.Consent().Vote(t.Context(), id, envelope)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// waiting starts what waits for approval.
func (a *asker) waiting(t *testing.T) paddock.Run {
	t.Helper()
	run, err := a.e.Start(t.Context(), push(true))
	if err != nil || run.State != paddock.Waiting || run.Approval == "" || run.StartedAt != nil {
		t.Fatalf("%+v, %v", run, err)
	}
	return run
}

func (a *asker) ended(t *testing.T, id paddock.RunID, state paddock.State, kind paddock.ReasonKind) paddock.Run {
	t.Helper()
	run, err := a.e.Wait(t.Context(), id)
	if err != nil || run.State != state || run.Outcome.Reason.Kind != kind {
		t.Fatalf("%s %+v, %v; want %s, %s", run.State, run.Outcome, err, state, kind)
	}
	return run
}

func (a *asker) used(t *testing.T, id paddock.ApprovalID, want int) {
	t.Helper()
	if one, err := a.e.Consent().Get(id); err != nil || len(one.Used) != want {
		t.Errorf("it was used by %v, %v; want %d", one.Used, err, want)
	}
}

func code(t *testing.T, err error, want paddock.Code) *paddock.Refusal {
	t.Helper()
	var r *paddock.Refusal
	if !errors.As(err, &r) || r.Code != want {
		t.Fatalf("%v, want %s", err, want)
	}
	return r
}

func TestWaitsAndStarts(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	run := a.waiting(t)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	run = a.ended(t, run.ID, paddock.Exited, paddock.ReasonExit)
	if run.Stdout.Bytes != int64(len("push\n")) || run.StartedAt == nil {
		t.Errorf("%+v", run)
	}
	a.used(t, run.Approval, 1)
}

func TestRefusal_approval_denied(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	run := a.waiting(t)
	a.vote(t, run.Approval, approval.Statement{Reason: "not today"})
	run = a.ended(t, run.ID, paddock.RefusedState, paddock.ReasonDenied)
	if r := run.Outcome.Reason; r.By != "anna" || r.Why != "not today" || run.StartedAt != nil {
		t.Errorf("%+v", run)
	}
	// As long as that stands, asking again says so.
	_, err := a.e.Start(t.Context(), push(true))
	if r := code(t, err, paddock.ApprovalDenied); !strings.Contains(r.Message, "not today") || r.Retryable {
		t.Errorf("%+v", r)
	}
	a.used(t, run.Approval, 0)
}

func TestRefusal_approval_expired(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	run := a.waiting(t)
	a.ahead.Store(int64(2 * time.Hour))
	a.ended(t, run.ID, paddock.RefusedState, paddock.ReasonExpired)
	a.ahead.Store(0) // the clock is set back: it stays over, and is asked anew
	again := a.waiting(t)
	if again.Approval == run.Approval {
		t.Errorf("it waits as %s again", again.Approval)
	}
	if _, err := a.e.Kill(t.Context(), again.ID, Ending{}); err != nil {
		t.Fatal(err)
	}
}

func TestWaitsAndIsKilled(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	run := a.waiting(t)
	killed, err := a.e.Kill(t.Context(), run.ID, Ending{By: "somebody", Why: "no more"})
	if err != nil || killed.State != paddock.Killed || killed.Outcome.Reason.By != "somebody" || killed.StartedAt != nil {
		t.Fatalf("%+v, %v", killed, err)
	}
	// An approval that comes later starts nothing by itself.
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	if again, err := a.e.Kill(t.Context(), run.ID, Ending{}); err != nil || again.Outcome.Reason.Why != "no more" {
		t.Errorf("%+v, %v", again, err)
	}
	a.used(t, run.Approval, 0)
}

// What is different when it is approved isn't started.
func TestWaitsAndThePolicyChanges(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	run := a.waiting(t)
	text := *a.policy.text.Load() + "# another\n"
	a.policy.text.Store(&text)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	a.ended(t, run.ID, paddock.RefusedState, paddock.ReasonChanged)
	a.used(t, run.Approval, 0)
}

// Who doesn't stay is refused, and asks again when it is approved: also after a
// restart, and as often as it was approved, by the same words only.
func TestAskedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	_, err := a.e.Start(t.Context(), push(false))
	if r := code(t, err, paddock.ApprovalRequired); !r.Retryable || r.Rule != "ask-me" {
		t.Errorf("%+v", r)
	}
	list, err := a.e.Consent().List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	id := list[0].ID
	a.vote(t, id, approval.Statement{Approve: true, Uses: 2})
	other, err := Open(t.Context(), a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = other.Start(t.Context(), push(false, "more"))
	code(t, err, paddock.ApprovalRequired)
	for range 2 {
		run, err := other.Start(t.Context(), push(false))
		if err == nil {
			run, err = other.Wait(t.Context(), run.ID)
		}
		if err != nil || run.State != paddock.Exited || run.Approval != id {
			t.Fatalf("%+v, %v", run, err)
		}
	}
	_, err = other.Start(t.Context(), push(false))
	if r := code(t, err, paddock.ApprovalRequired); strings.Contains(r.Message, string(id)) {
		t.Errorf("it is asked about as before: %+v", r)
	}
	a.used(t, id, 2)
}

// A process that is closed leaves nothing that waits, and nothing that starts.
func TestWhoWaitsIsGone(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	other, err := Open(t.Context(), a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, err := other.Start(t.Context(), push(true))
	if err != nil || run.State != paddock.Waiting {
		t.Fatalf("%+v, %v", run, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	a.ended(t, run.ID, paddock.Killed, paddock.ReasonCallerGone)
	a.vote(t, run.Approval, approval.Statement{Approve: true})
	a.used(t, run.Approval, 0)
}

// Of many who ask for the same at once, no more start than were approved.
func TestManyAskForTheSame(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	text := strings.Replace(*a.policy.text.Load(), "concurrent: 1", "concurrent: 20", 1)
	a.policy.text.Store(&text)
	_, err := a.e.Start(t.Context(), push(false))
	code(t, err, paddock.ApprovalRequired)
	list, err := a.e.Consent().List()
	if err != nil {
		t.Fatal(err)
	}
	a.vote(t, list[0].ID, approval.Statement{Approve: true, Uses: 2})
	var started atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			run, err := a.e.Start(t.Context(), push(false))
			if err != nil {
				return
			}
			started.Add(1)
			if _, err := a.e.Wait(t.Context(), run.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := started.Load(); n != 2 {
		t.Errorf("%d were started", n)
	}
	a.used(t, list[0].ID, 2)
}
