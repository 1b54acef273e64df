package runner

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/served"
	"paddock/internal/executor"
	"paddock/internal/task/delegate"
)

// tools is how delegates of a are served.
func (o Options) tools(a *app.App, policies executor.Source) delegate.Serve {
	warn := o.Warn
	if warn == nil {
		warn = func(error) {}
	}
	log := slog.New(warner{warn})
	return func(ctx context.Context, conn net.Conn, d Delegate) {
		o.ServeTools(ctx, conn, served.Session{App: a, Policies: policies, Delegate: d, Log: log, Now: time.Now})
	}
}

// A warner hands what is logged on to a Runner's Warn.
type warner struct{ warn func(error) }

// Enabled, Handle, WithAttrs and WithGroup implement [slog.Handler].
func (warner) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w warner) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	w.warn(errors.New("delegates: " + text))
	return nil
}

func (w warner) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warner) WithGroup(string) slog.Handler      { return w }

type (
	// A Delegate is a task that was given to an agent of the policy's.
	Delegate = delegate.Delegate
	// A DelegateResult is what came of it.
	DelegateResult = delegate.Result
	// A Collect says which results are wanted; its Principal is ignored.
	Collect = delegate.Collect
	// Collected are results.
	Collected = delegate.Collected
)

// A DelegateTask is what a delegate is to do, and by whom.
type DelegateTask struct {
	// Provider is one of the policy's; it may be left out where there is one.
	Provider string
	Task     string
	Label    string
	// Dir is where it works; empty is the first root. Timeout can only lower.
	Dir     string
	Timeout paddock.Duration
	// Key, if it isn't empty, makes asking again return the delegate of the first time.
	Key string
}

// Delegate gives a task to an agent that the policy lists, and returns at once. It
// goes on when this program ends, unless the Runner's OnClose says otherwise or it has
// tools: see [Options].
func (r *Runner) Delegate(ctx context.Context, t DelegateTask) (Delegate, error) {
	return r.app.Delegate(ctx, delegate.Ask{
		Principal: r.principal, Door: paddock.DoorGo, Tied: r.onClose == KillRuns,
		Provider: t.Provider, Task: t.Task, Label: t.Label, Dir: t.Dir, Timeout: t.Timeout, Key: t.Key,
	})
}

// CollectDelegates acknowledges results and returns those that wait. What isn't
// acknowledged comes again with the next call.
func (r *Runner) CollectDelegates(ctx context.Context, c Collect) (Collected, error) {
	c.Principal = r.principal
	return r.app.CollectDelegates(ctx, c)
}

// CancelDelegate ends a delegate. One that has a result comes back unchanged.
func (r *Runner) CancelDelegate(ctx context.Context, id, why string) (Delegate, error) {
	return r.app.CancelDelegate(ctx, r.principal, id, why)
}

// Delegates returns those whose results aren't acknowledged, oldest first.
func (r *Runner) Delegates(ctx context.Context) ([]Delegate, error) {
	return r.app.Delegates(ctx, r.principal)
}
