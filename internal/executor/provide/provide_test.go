//go:build linux

package provide

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// runs plays an executor whose programs say text and end at once.
type runs struct {
	mu      sync.Mutex
	text    string
	refuses error
	outcome paddock.Outcome
	state   paddock.State
	hangs   bool
	begun   []paddock.Request
	aborted int
}

func (r *runs) Begin(_ context.Context, req paddock.Request, sink *os.File, _ Judgement) (paddock.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, req)
	if r.refuses != nil {
		return paddock.Run{}, r.refuses
	}
	_, err := sink.WriteAt([]byte(r.text), 0)
	return paddock.Run{ID: "r1"}, err
}

func (r *runs) Settled(ctx context.Context, _ paddock.RunID) error {
	if r.hangs {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (r *runs) Run(context.Context, paddock.RunID) (paddock.Run, error) {
	return paddock.Run{ID: "r1", State: r.state, Outcome: &r.outcome}, nil
}

func (r *runs) Abort(context.Context, paddock.RunID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted++
	return nil
}

// wants is a judgement that waits for secrets.
type wants struct {
	asked map[string]paddock.Provider
	mu    sync.Mutex
	told  map[string]string
}

func (w *wants) Asked() map[string]paddock.Provider { return w.asked }
func (w *wants) Answered(name string, text []byte, problem string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[name] = string(text) + "|" + problem
	return nil
}
func (w *wants) Provided() error { return nil }

var (
	zero, three = 0, 3
	fine        = paddock.Outcome{Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &zero}}
	one, other  = paddock.DigestOf([32]byte{1}), paddock.DigestOf([32]byte{2})
)

func asking(cache time.Duration, names ...string) *wants {
	w := &wants{asked: map[string]paddock.Provider{}, told: map[string]string{}}
	for _, n := range names {
		w.asked[n] = paddock.Provider{Argv: []string{"/say", n}, Cache: paddock.Duration(cache)}
	}
	return w
}

// What was said is used again for as long as the policy says, by the same policy only.
func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := &runs{text: "first", state: paddock.Exited, outcome: fine}
	p := New(r, func() time.Time { return now })
	ask := func(policy paddock.Digest, cache time.Duration, want string, begun int) {
		t.Helper()
		w := asking(cache, "A")
		if err := p.Ask(t.Context(), policy, w); err != nil || w.told["A"] != want+"|" || len(r.begun) != begun {
			t.Errorf("%v, told %q after %d runs, want %q after %d", err, w.told, len(r.begun), want, begun)
		}
	}
	ask(one, 0, "first", 1)
	r.text = "second"
	ask(one, 0, "second", 2) // nothing is kept unless the policy says so
	ask(one, time.Minute, "second", 3)
	r.text = "third"
	ask(one, time.Minute, "second", 3)
	now = now.Add(time.Minute - 1)
	ask(one, time.Minute, "second", 3)
	now = now.Add(1)
	ask(one, time.Minute, "third", 4)
	ask(other, time.Minute, "third", 5)
	ask(one, time.Minute, "third", 6) // what is of another policy is forgotten
	now = now.Add(-time.Hour)
	ask(one, time.Minute, "third", 7) // a clock that was set back
	if req := r.begun[0]; req.Room != "secret:A" || req.Principal != By || !req.Tied || strings.Join(req.Command.Argv, " ") != "/say A" {
		t.Errorf("%+v", req)
	}
}

// A failure is told without what was printed, and asked again.
func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*runs{
		"|its provider ended with exit status 3; it was run r1":         {state: paddock.Exited, outcome: paddock.Outcome{Reason: paddock.Reason{ExitCode: &three}}},
		"|its provider ended as killed; it was run r1":                  {state: paddock.Killed, outcome: paddock.Outcome{Reason: paddock.Reason{Kind: paddock.ReasonSignal, Signal: "KILL"}}},
		"|its provider didn't end in time; it was run r1":               {state: paddock.TimedOut, outcome: paddock.Outcome{Reason: paddock.Reason{Kind: paddock.ReasonTimeout}}},
		"|its provider printed more than a secret has; it was run r1":   {state: paddock.OutputLimit, outcome: paddock.Outcome{Reason: paddock.Reason{Kind: paddock.ReasonOutputLimit}}},
		"|its provider couldn't be started; it was run r1":              {state: paddock.FailedToStart},
		"|its provider ended as lost; it was run r1":                    {state: paddock.Lost},
		"|its provider was refused (executable_missing: There is none)": {refuses: paddock.Refused(paddock.ExecutableMissing, "There is none")},
	} {
		r.text = "hunter22"
		p := New(r, time.Now)
		for n := 1; n < 3; n++ {
			w := asking(time.Hour, "A")
			if err := p.Ask(t.Context(), one, w); err != nil || w.told["A"] != want || len(r.begun) != n {
				t.Errorf("%v, told %q, want %q after %d runs", err, w.told, want, n)
			}
		}
	}
}

// Who doesn't wait any more leaves no provider behind, and what breaks is our fault.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	r := &runs{hangs: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(r, time.Now).Ask(ctx, one, asking(0, "A", "B")); !errors.Is(err, context.Canceled) || r.aborted != 2 {
		t.Errorf("%v, %d ended", err, r.aborted)
	}
	broken := errors.New("broken")
	if err := New(&runs{refuses: broken}, time.Now).Ask(t.Context(), one, asking(0, "A")); !errors.Is(err, broken) || !errors.Is(err, paddock.ErrFault) {
		t.Error(err)
	}
	if err := New(nil, nil).Ask(t.Context(), one, asking(0)); err != nil { // nobody is asked
		t.Error(err)
	}
}
