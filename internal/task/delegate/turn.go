package delegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/policy/compiled"
	"paddock/internal/task/delegate/book"
	"paddock/internal/task/delegate/book/report"
)

// look is how often it is looked whether another process moved something on, and
// whether a turn didn't come in time.
const look = time.Second

// turn moves every delegate on that can be, and returns all that aren't acknowledged,
// oldest first.
func (r *Room) turn(ctx context.Context) ([]Delegate, error) {
	all, err := r.book.Load()
	if err != nil || !slices.ContainsFunc(all, Delegate.Pending) {
		return all, err
	}
	moved := false
	err = r.book.Locked(ctx, func() error {
		if all, err = r.book.Load(); err != nil {
			return err
		}
		t := turn{Room: r, all: all}
		err := t.take(ctx)
		moved = t.moved
		return err
	})
	if moved {
		r.tell()
	}
	return all, err
}

func (r *Room) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// A turn is one, under the lock.
type turn struct {
	*Room
	all   []Delegate
	moved bool
}

func (t *turn) take(ctx context.Context) error {
	running := map[int]int{}
	var errs []error
	for i := range t.all {
		if d := &t.all[i]; d.State == Running {
			errs = append(errs, t.watch(ctx, d))
			if d.State == Running {
				running[d.Depth]++
			}
		}
	}
	rules, err := t.exec.Delegates()
	errs = append(errs, err)
	for i := range t.all {
		if d := &t.all[i]; d.State == Queued {
			errs = append(errs, t.queued(ctx, d, rules, running))
		}
	}
	return errors.Join(errs...)
}

// watch settles a delegate whose run is over.
func (t *turn) watch(ctx context.Context, d *Delegate) error {
	run, err := t.exec.Run(ctx, d.Run)
	switch {
	case err != nil:
		return err
	case !run.State.Settled():
		if d.Cancel != nil { // whoever wanted it may be gone
			_, err = t.exec.Kill(ctx, d.Run, executor.Ending{Kind: paddock.ReasonKill, Signal: "TERM", By: d.Cancel.By, Why: d.Cancel.Why, NoWait: true})
		}
		return err
	}
	result, err := report.Of(ctx, t.exec, *d, run)
	if err != nil {
		return err
	}
	return errors.Join(t.settle(d, result), t.orphans(d.ID), t.exec.Seen(d.Principal, d.Run))
}

// orphans has the delegates of one that is over end with it.
func (t *turn) orphans(parent string) error {
	var errs []error
	for i := range t.all {
		if d := &t.all[i]; d.Parent == parent && d.Pending() && d.Cancel == nil {
			d.Cancel = &book.Cancel{By: "paddock", Why: "the delegate that asked for it is over"}
			errs = append(errs, t.book.Write(*d))
			t.moved = true
		}
	}
	return errors.Join(errs...)
}

func (t *turn) settle(d *Delegate, result Result) error {
	d.State, d.Result, d.Job, t.moved = Ready, &result, nil, true
	return t.book.Write(*d)
}

// queued starts a delegate whose turn it is, and settles one that won't have any.
func (t *turn) queued(ctx context.Context, d *Delegate, rules *compiled.Delegates, running map[int]int) error {
	waited := t.exec.Now().Sub(d.CreatedAt)
	switch {
	case d.Cancel != nil:
		return t.never(ctx, d, Canceled, book.Joined("it was canceled before it began", d.Cancel.Why))
	case rules == nil || !rules.Agents:
		return t.never(ctx, d, Failed, "the policy doesn't let agents be started any more")
	case !slices.Equal(d.Job.Argv, append([]string{d.Provider}, rules.Args[d.Provider]...)) || !slices.Contains(rules.Names, d.Provider):
		return t.never(ctx, d, Failed, "the policy says something else of its provider now; give the task again")
	case !book.Within(d.Tools, rules.Tools[d.Provider]):
		return t.never(ctx, d, Failed, "the policy gives its provider other tools now; give the task again")
	case waited > time.Duration(rules.Wait):
		return t.never(ctx, d, Starved, fmt.Sprintf("its turn didn't come within %s; collect or cancel others, or ask the operator for `delegates.concurrent`", time.Duration(rules.Wait)))
	case running[d.Depth] >= rules.Concurrent || len(d.Tools) > 0 && t.serve == nil: // whoever serves tools takes it
		return nil
	}
	run, err := t.start(ctx, *d)
	refusal, refused := errors.AsType[*paddock.Refusal](err)
	switch {
	case refused && refusal.Retryable || err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return t.never(ctx, d, Failed, "it couldn't be started: "+err.Error())
	}
	running[d.Depth]++
	d.State, d.Run, d.Job, t.moved = Running, run.ID, nil, true
	return t.book.Write(*d)
}

// never settles a delegate that wasn't started. Its report says so, so that there is
// one to read for each.
func (t *turn) never(ctx context.Context, d *Delegate, status Status, why string) error {
	now := t.exec.Now()
	result := Result{Status: status, Error: why, SettledAt: now, Duration: paddock.Duration(now.Sub(d.CreatedAt)), Summary: "There is no report: " + book.Cut(why, 1000) + "."}
	run, err := t.exec.Bank(ctx, d.Principal, d.Door, d.Label, []byte(result.Summary+"\n"))
	if err != nil {
		if _, refused := errors.AsType[*paddock.Refusal](err); !refused {
			return err
		}
	} else {
		result.Artifact = run.ID
	}
	return t.settle(d, result)
}

// drive has somebody move delegates on as long as there are any.
func (r *Room) drive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = true
	if r.driving {
		select {
		case r.poke <- struct{}{}:
		default:
		}
		return
	}
	r.driving = true
	r.work.Go(r.loop)
}

func (r *Room) loop() {
	for r.life.Err() == nil {
		r.mu.Lock()
		r.again = false
		r.mu.Unlock()
		all, err := r.turn(r.life)
		if err == nil && !slices.ContainsFunc(all, Delegate.Pending) {
			r.mu.Lock()
			if !r.again {
				r.driving = r.life.Err() != nil
				r.mu.Unlock()
				return
			}
			r.mu.Unlock()
			continue
		}
		r.news(all)
	}
}

// news returns when one of the delegates that run may be over, when somebody has news,
// or when it is time to look.
func (r *Room) news(all []Delegate) {
	ctx, cancel := context.WithTimeout(r.life, look)
	defer cancel()
	for _, d := range all {
		if d.State == Running {
			r.work.Go(func() {
				if r.exec.Settled(ctx, d.Run) == nil {
					cancel()
				}
			})
		}
	}
	select {
	case <-ctx.Done():
	case <-r.poke:
	}
}
