package delegate

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/policy/compiled"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/task/delegate/book"
	"paddock/internal/task/delegate/book/errand"
)

// Executor is what the room needs of the one that starts programs.
type Executor interface {
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
	StartWith(ctx context.Context, req paddock.Request, door *os.File) (paddock.Run, error)
	Run(ctx context.Context, id paddock.RunID) (paddock.Run, error)
	Settled(ctx context.Context, id paddock.RunID) error
	Kill(ctx context.Context, id paddock.RunID, end executor.Ending) (paddock.Run, error)
	Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Refused(ctx context.Context, req paddock.Request, policy paddock.Digest, r *paddock.Refusal)
	Bank(ctx context.Context, p paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error)
	Seen(p paddock.Principal, id paddock.RunID) error
	// Delegates is what the policy says of them now; nil for nothing.
	Delegates() (*compiled.Delegates, error)
	StateDir() string
	Now() time.Time
}

// A Room gives tasks to agents. Its methods may be called concurrently.
type Room struct {
	exec  Executor
	book  book.Book
	serve Serve
	life  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup

	mu      sync.Mutex
	driving bool
	again   bool          // somebody has news for the one who drives
	changed chan struct{} // closed and replaced when something was moved on
	poke    chan struct{}
}

// New returns a room that asks e until it is closed; ctx ending changes nothing. Those
// that have tools are started only where serve isn't nil.
func New(ctx context.Context, e Executor, serve Serve) *Room {
	r := &Room{exec: e, serve: serve, book: book.Open(e.StateDir(), e.Now), changed: make(chan struct{}), poke: make(chan struct{}, 1)}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Close ends what this process does for delegates. They themselves go on.
func (r *Room) Close() {
	r.end()
	r.mu.Lock()
	r.driving = true // nobody begins any more
	r.mu.Unlock()
	r.work.Wait()
}

// Delegate gives a task to an agent and returns at once: with one that runs or waits
// for its turn. What the policy doesn't allow is a [*paddock.Refusal], which is written
// down.
func (r *Room) Delegate(ctx context.Context, a Ask) (Delegate, error) {
	d, policy, err := r.delegate(ctx, a)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok {
		r.exec.Refused(ctx, errand.Asked(d, a.Principal, a.Door), policy, refusal)
		return Delegate{}, err
	}
	return d, err
}

// delegate is Delegate, and says what was asked for and by which policy it was judged,
// as far as that came.
func (r *Room) delegate(ctx context.Context, a Ask) (Delegate, paddock.Digest, error) {
	if err := a.check(); err != nil {
		return Delegate{}, "", err
	}
	d, policy, err := r.prepare(ctx, a)
	if err != nil {
		return d, policy, err
	}
	err = r.book.Locked(ctx, func() error {
		all, err := r.book.Load()
		if err != nil {
			return err
		}
		open := 0
		for _, o := range all {
			if o.Principal != a.Principal {
				continue
			}
			open++
			if a.Key != "" && o.Key == d.Key {
				d = o
				return nil
			}
		}
		if open >= MostOpen {
			refusal := paddock.Refused(paddock.Busy, "%d delegates of yours aren't acknowledged; there are at most %d.", open, MostOpen)
			refusal.Hint = "Collect results and acknowledge them, or cancel some."
			return refusal
		}
		return r.book.Write(d)
	})
	if err != nil {
		return d, policy, err
	}
	if _, err := r.turn(context.WithoutCancel(ctx)); err != nil { // it is there, whatever comes now
		return d, "", nil //nolint:nilerr // whoever looks next moves it on, and is told
	}
	r.drive()
	d, err = r.book.Find(a.Principal, d.ID)
	return d, "", err
}

func (a Ask) check() error {
	switch {
	case strings.TrimSpace(a.Task) == "":
		return paddock.Refused(paddock.InvalidRequest, "The task is empty; say what the delegate shall do.")
	case len(a.Task) > MostTask || !utf8.ValidString(a.Task) || strings.IndexByte(a.Task, 0) >= 0:
		return paddock.Refused(paddock.InvalidRequest, "A task is at most %d bytes of UTF-8 without NUL.", MostTask)
	case len(a.Key) > 200 || !oneLine(a.Key):
		return paddock.Refused(paddock.InvalidRequest, "The idempotency key must be one line of at most 200 bytes of text.")
	case len(a.Provider) > 200 || !oneLine(a.Provider):
		return paddock.Refused(paddock.InvalidRequest, "The provider must be one of those that the policy names.")
	}
	return nil
}

func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// prepare has the delegate judged as if it began now, by the policy that it returns.
func (r *Room) prepare(ctx context.Context, a Ask) (d Delegate, by paddock.Digest, err error) {
	rules, err := r.exec.Delegates()
	if err != nil {
		return d, "", err
	}
	if a.Provider, err = errand.Choose(rules, a.Provider); err != nil {
		return d, "", err
	}
	now := r.exec.Now()
	d = Delegate{Version: durable.Version, State: Queued, Principal: a.Principal, Door: a.Door, Provider: a.Provider, Label: a.Label, CreatedAt: now}
	if err := r.below(ctx, &d, a, rules); err != nil {
		return d, "", err
	}
	if d.Label == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(a.Task), "\n")
		d.Label = strings.Map(func(c rune) rune {
			if unicode.IsControl(c) {
				return ' '
			}
			return c
		}, book.Cut(d.Provider+": "+first, 100))
	}
	if d.ID, err = book.NewID(now); err != nil {
		return d, "", err
	}
	if a.Key != "" {
		d.Key = durable.HashOf(a.Key, d.Provider, a.Dir, a.Label, a.Task)
	}
	job := errand.Job(rules, d.Provider)
	job.Task, job.Dir, job.Timeout, job.Tied = a.Task, a.Dir, a.Timeout, a.Tied
	d.Job = &job
	decision, err := r.exec.Explain(ctx, errand.Request(d))
	if err != nil {
		return d, "", err
	}
	if refusal := decision.Refusal(); refusal != nil && !refusal.Retryable {
		return d, decision.PolicyDigest, refusal
	}
	return d, decision.PolicyDigest, nil
}

// Cancel ends a delegate. One that has a result comes back unchanged.
func (r *Room) Cancel(ctx context.Context, p paddock.Principal, id, why string) (Delegate, error) {
	if len(why) > mostWhy || !oneLine(why) {
		return Delegate{}, paddock.Refused(paddock.InvalidRequest, "The reason must be one line of at most %d bytes of text.", mostWhy)
	}
	if _, err := r.book.Find(p, id); err != nil {
		return Delegate{}, err
	}
	var run paddock.RunID
	err := r.book.Locked(ctx, func() error {
		d, err := r.book.Find(p, id)
		if err != nil || !d.Pending() || d.Cancel != nil {
			run = d.Run
			return err
		}
		d.Cancel, run = &book.Cancel{By: p.ID, Why: why}, d.Run
		return r.book.Write(d)
	})
	if err != nil {
		return Delegate{}, err
	}
	if run != "" {
		if _, err := r.exec.Kill(ctx, run, executor.Ending{Kind: paddock.ReasonKill, Signal: "TERM", By: p.ID, Why: why}); err != nil {
			return Delegate{}, err
		}
	}
	if _, err := r.turn(ctx); err != nil {
		return Delegate{}, err
	}
	r.drive()
	return r.book.Find(p, id)
}
