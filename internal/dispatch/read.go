package dispatch

import (
	"context"
	"encoding/json/v2"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/store"
)

// record is what a row says of its run.
func (f *Front) record(r store.Run) paddock.Run {
	run := paddock.Run{
		ID: r.ID, State: r.State, Label: r.Label, Argv: []string{}, Principal: paddock.Principal{Kind: paddock.User, ID: r.Principal}, Door: paddock.DoorHTTP,
		CreatedAt: r.Created.Time, RequestDigest: r.Request,
		Stdout: paddock.StreamSummary{Bytes: r.StdoutBytes, Digest: r.StdoutDigest}, Stderr: paddock.StreamSummary{Bytes: r.StderrBytes, Digest: r.StderrDigest},
	}
	if o, ok := f.order(r); ok {
		run.Argv, run.Dir, run.PolicyDigest = o.Request.Command.Argv, o.Request.Command.Dir, o.Policy
	}
	if !r.Started.IsZero() {
		run.StartedAt = &r.Started.Time
		run.Duration = paddock.Duration(f.cfg.Now().Sub(r.Started.Time))
	}
	var o paddock.Outcome
	if len(r.Outcome) > 0 && json.Unmarshal(r.Outcome, &o) == nil {
		run.Outcome, run.Stdout, run.Stderr = &o, o.Stdout, o.Stderr
		if run.StartedAt != nil {
			run.Duration = paddock.Duration(o.EndedAt.Sub(*run.StartedAt))
		}
	}
	return run
}

// order is what was signed here for a row. Of others' doors nothing is shown, and of
// runs that have begun there is nothing any more.
func (f *Front) order(r store.Run) (order.Order, bool) {
	o, err := order.Open(r.Envelope, r.ID, []*sign.Public{&f.cfg.Key.Public}, r.Created.Time)
	return o, err == nil
}

// Look returns the run as of now.
func (f *Front) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	at, err := f.find(ctx, p, id)
	if err != nil || at.row == nil || at.house == nil {
		return at.run, err
	}
	return or(at.run)(at.house.Look(ctx, p, id))
}

// Status returns the run as of now.
func (f *Front) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	at, err := f.find(ctx, p, id)
	if err != nil || at.house == nil {
		return at.run, err
	}
	return or(at.run)(at.house.Status(ctx, p, id))
}

// or takes what the row says where a house can't be asked after all.
func or(row paddock.Run) func(paddock.Run, error) (paddock.Run, error) {
	return func(run paddock.Run, err error) (paddock.Run, error) {
		if isHidden(err) {
			return row, nil
		}
		return run, err
	}
}

// Wait returns when the run is settled, or as it is when wait is over; see app.
func (f *Front) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait < 0 {
		return f.App.Wait(ctx, p, id, wait) // which says why not
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if wait > 0 {
		limited, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	at, err := f.placed(limited, p, id)
	if err != nil && limited.Err() != nil {
		return at.run, ctx.Err() // nil when only the wait is over
	}
	if err != nil || at.house == nil {
		return at.run, err
	}
	if until, ok := limited.Deadline(); ok {
		wait = max(time.Millisecond, time.Until(until))
	}
	return or(at.run)(at.house.Wait(ctx, p, id, wait))
}

// placed returns where the run is once it has a directory that can be asked, or is
// settled.
func (f *Front) placed(ctx context.Context, p paddock.Principal, id paddock.RunID) (at place, err error) {
	asked := context.WithoutCancel(ctx) // what is known is known at the end, too
	err = f.until(ctx, func() (bool, error) {
		at, err = f.find(asked, p, id)
		return at.house != nil || at.run.State.Settled(), err
	})
	return at, err
}

// Output returns a page. Of what hasn't begun there is nothing yet.
func (f *Front) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	at, err := f.find(ctx, p, id)
	if err == nil && at.house == nil && !at.run.State.Settled() && req.Wait > 0 && time.Duration(req.Wait) <= paddock.MaxWait {
		limited, cancel := context.WithTimeout(ctx, time.Duration(req.Wait))
		defer cancel()
		if at, err = f.placed(limited, p, id); err != nil && limited.Err() != nil {
			err = ctx.Err()
		}
		req.Wait = 0
	}
	switch {
	case err != nil:
		return paddock.Page{}, err
	case at.house != nil:
		return at.house.Output(ctx, p, id, req)
	case at.row.Started.IsZero():
		if req.Stream == "" {
			req.Stream = paddock.Stdout
		}
		return paddock.Page{Stream: req.Stream, Encoding: "utf-8", EOF: at.run.State.Settled()}, nil
	}
	r := paddock.Refused(paddock.Busy, "The output of run %s is on the worker %s, which can't be reached from here.", id, at.row.Worker)
	r.Gate, r.Hint = "", "Ask again when the worker is connected."
	return paddock.Page{}, r
}

// Detail returns the whole record of a run, as far as it is known.
func (f *Front) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error) {
	at, err := f.find(ctx, p, id)
	if err != nil {
		return app.Detail{}, err
	}
	if at.house != nil {
		if d, err := at.house.Detail(ctx, p, id); !isHidden(err) {
			return d, err
		}
	}
	d := app.Detail{Run: at.run, EnvironmentNames: []string{}}
	d.Request = paddock.Request{Principal: at.run.Principal, Door: at.run.Door, Command: paddock.Command{Argv: at.run.Argv, Dir: at.run.Dir, Label: at.run.Label}}
	if o, ok := f.order(*at.row); ok {
		if names := o.Request.Command.EnvironmentNames(); names != nil {
			d.EnvironmentNames = names
		}
	}
	return d, nil
}

// Kill ends the run, wherever it is, and returns its record.
func (f *Front) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	run, err := f.App.Kill(ctx, p, id, req)
	if !isHidden(err) {
		return run, err
	}
	v, err := canceled(p, req.Reason, f.cfg.Now())
	if err != nil {
		return paddock.Run{}, err
	}
	row, err := f.cfg.Runs.Cancel(ctx, scope(p), id, p.ID, req.Reason, v)
	if isGone(err) {
		return paddock.Run{}, hidden()
	}
	if err != nil {
		return paddock.Run{}, err
	}
	f.cfg.Changed.Ring()
	f.cfg.Told.Ring()
	run = f.record(row)
	if run.State.Settled() || req.NoWait {
		return run, nil
	}
	limited, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	err = f.until(limited, func() (bool, error) {
		at, err := f.find(ctx, p, id)
		run = at.run
		return run.State.Settled(), err
	})
	if err != nil && limited.Err() != nil {
		err = ctx.Err()
	}
	return run, err
}

// canceled is how a run ends that nobody had begun.
func canceled(p paddock.Principal, why string, now time.Time) (store.Verdict, error) {
	at := store.At(now)
	text, err := json.Marshal(paddock.Outcome{State: paddock.Killed, EndedAt: at.Time, SettledAt: at.Time,
		Reason: paddock.Reason{Kind: paddock.ReasonKill, By: p.ID, Why: why, Detail: "before the program was started"}}, json.Deterministic(true))
	return store.Verdict{State: paddock.Killed, Outcome: text, At: at}, err
}
