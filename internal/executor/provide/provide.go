// Package provide asks programs for secrets. Each is a run of its own, decided,
// contained and written down as any other, but for what it prints: that goes into
// memory, to whoever asks, and nowhere else.
//
// # Limits
//
// What is kept ready for a while is in the memory of one process, and isn't wiped
// from it. That the program is the right one, and what it may, the policy says.
package provide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"paddock"
	"paddock/internal/egress/credential"
)

// By is who asks for the runs of providers.
var By = paddock.Principal{Kind: paddock.Operator, ID: "secrets"}

// most is more than a secret has.
const most = 64 << 10

// Runs are those of an executor.
type Runs interface {
	// Begin starts what req asks for, by the policy that judged what it is asked for;
	// what it prints goes to sink.
	Begin(ctx context.Context, req paddock.Request, sink *os.File, by Judgement) (paddock.Run, error)
	Settled(ctx context.Context, id paddock.RunID) error
	Run(ctx context.Context, id paddock.RunID) (paddock.Run, error)
	// Abort ends a run whose output nobody waits for any more.
	Abort(ctx context.Context, id paddock.RunID) error
}

// A Judgement is a request that waits for secrets.
type Judgement interface {
	Asked() map[string]paddock.Provider
	Answered(name string, text []byte, problem string) error
	Provided() error
}

// Providers keeps what was said for as long as the policy says. Its methods may be
// called concurrently.
type Providers struct {
	runs Runs
	now  func() time.Time

	mu   sync.Mutex
	said map[key]answer // nothing of another policy than the last that was asked for
}

type key struct {
	policy paddock.Digest
	name   string
}

type answer struct {
	text    []byte
	problem string
	at      time.Time
	until   time.Time
	err     error
}

// New returns Providers.
func New(runs Runs, now func() time.Time) *Providers {
	return &Providers{runs: runs, now: now, said: map[key]answer{}}
}

// Ask has j, judged by policy, be told every secret that a program says. The error is
// the refusal that follows of what was said, or a fault.
func (p *Providers) Ask(ctx context.Context, policy paddock.Digest, j Judgement) error {
	asked := j.Asked()
	if len(asked) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(asked))
	answers := make([]answer, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { answers[i] = p.answer(ctx, key{policy, name}, asked[name], j) })
	}
	asking.Wait()
	var errs []error
	for i, name := range names {
		if answers[i].err != nil {
			errs = append(errs, answers[i].err)
			continue
		}
		errs = append(errs, j.Answered(name, answers[i].text, answers[i].problem))
	}
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", paddock.ErrFault, err)
	}
	return j.Provided()
}

// answer is what k's provider said before, or says now.
func (p *Providers) answer(ctx context.Context, k key, of paddock.Provider, j Judgement) answer {
	if a, ok := p.ready(k); ok {
		return a
	}
	at := p.now()
	a := p.ask(ctx, k.name, of, j)
	if a.err == nil && a.problem == "" && of.Cache > 0 {
		a.at, a.until = at, at.Add(time.Duration(of.Cache)) // from when it was asked: it isn't newer
		p.mu.Lock()
		p.said[k] = a
		p.mu.Unlock()
	}
	return a
}

// ready returns what may be used again, and forgets what may not: what is too old, and
// what another policy asked for. A clock that was set back makes it old.
func (p *Providers) ready(k key) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	maps.DeleteFunc(p.said, func(o key, a answer) bool {
		return o.policy != k.policy || !now.Before(a.until) || now.Before(a.at)
	})
	a, ok := p.said[k]
	return a, ok
}

// ask runs the provider.
func (p *Providers) ask(ctx context.Context, name string, of paddock.Provider, j Judgement) answer {
	sink, err := credential.NewSink()
	if err != nil {
		return answer{err: err}
	}
	defer sink.Close()
	// It is tied to us: nobody else could take what it says.
	run, err := p.runs.Begin(ctx, paddock.Request{
		Principal: By, Door: paddock.DoorCLI, Room: paddock.SecretRoom + name, Tied: true, Command: paddock.Command{Argv: of.Argv},
	}, sink, j)
	var refusal *paddock.Refusal
	switch {
	case errors.As(err, &refusal):
		return answer{problem: fmt.Sprintf("its provider was refused (%s: %s)", refusal.Code, refusal.Message)}
	case err != nil:
		return answer{err: err}
	}
	if err := p.runs.Settled(ctx, run.ID); err != nil {
		return answer{err: errors.Join(err, p.runs.Abort(context.WithoutCancel(ctx), run.ID))}
	}
	if run, err = p.runs.Run(ctx, run.ID); err != nil {
		return answer{err: err}
	}
	if problem := problem(run); problem != "" {
		return answer{problem: problem}
	}
	text, err := io.ReadAll(io.NewSectionReader(sink, 0, most))
	return answer{text: text, err: err}
}

// problem says why what a provider printed can't be used; "" if it can. What it said
// beside, on its standard error, nobody kept.
func problem(run paddock.Run) string {
	var why paddock.Reason
	if run.Outcome != nil {
		why = run.Outcome.Reason
	}
	what := fmt.Sprintf("ended as %s", run.State)
	switch {
	case run.State == paddock.Exited && why.ExitCode != nil && *why.ExitCode == 0:
		return ""
	case run.State == paddock.Exited && why.ExitCode != nil:
		what = fmt.Sprintf("ended with exit status %d", *why.ExitCode)
	case why.Kind == paddock.ReasonTimeout:
		what = "didn't end in time"
	case why.Kind == paddock.ReasonOutputLimit:
		what = "printed more than a secret has"
	case run.State == paddock.FailedToStart:
		what = "couldn't be started"
	}
	return fmt.Sprintf("its provider %s; it was run %s", what, run.ID)
}
