package dispatch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch/answers"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/rows"
)

// Look returns the run as of now.
func (f *Front) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	at, err := f.find(ctx, p, id)
	if err != nil || at.row == nil || at.house == nil {
		return at.run, err
	}
	run, err := at.house.Look(ctx, p, id)
	return f.told(ctx, p, id, at, run, err)
}

// Status returns the run as of now.
func (f *Front) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	at, err := f.find(ctx, p, id)
	if err != nil || at.house == nil {
		return at.run, err
	}
	run, err := at.house.Status(ctx, p, id)
	return f.told(ctx, p, id, at, run, err)
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
	if err != nil || at.house == nil {
		return at.run, cmp.Or(err, ctx.Err())
	}
	if at.run.State.Settled() { // perhaps of what its machine still ends
		return f.Status(ctx, p, id)
	}
	ended := at.run
	err = f.until(limited, func() (bool, error) {
		if until, ok := limited.Deadline(); ok {
			wait = max(time.Millisecond, time.Until(until))
		}
		got, err := at.house.Wait(ctx, p, id, wait)
		if answers.IsHidden(err) { // it was claimed there and has no directory yet, or never gets one
			now, err := f.find(context.WithoutCancel(ctx), p, id)
			if err == nil {
				ended = now.run
			}
			return ended.State.Settled(), err
		}
		if !answers.IsAway(err) { // else the row has the last word
			ended = got
		}
		return true, err
	})
	if errors.Is(err, hint.ErrOver) {
		return ended, hint.Over(ctx, err)
	}
	if err != nil || !ended.State.Settled() {
		return f.told(ctx, p, id, at, ended, err)
	}
	return f.settled(ctx, limited, p, id, ended)
}

// settled waits for the row to say how a run came out that its machine has ended: a moment
// later it does.
func (f *Front) settled(ctx, limited context.Context, p paddock.Principal, id paddock.RunID, ended paddock.Run) (run paddock.Run, err error) {
	err = f.until(limited, func() (bool, error) {
		at, err := f.find(context.WithoutCancel(ctx), p, id)
		if run = at.run; err == nil && at.row != nil {
			run, err = f.told(context.WithoutCancel(ctx), p, id, at, ended, nil)
		}
		return run.State.Settled(), err
	})
	return run, hint.Over(ctx, err)
}

// placed returns where the run is once it has a directory that can be asked, or is
// settled, or ctx has ended.
func (f *Front) placed(ctx context.Context, p paddock.Principal, id paddock.RunID) (at place, err error) {
	asked := context.WithoutCancel(ctx) // what is known is known at the end, too
	err = f.until(ctx, func() (bool, error) {
		at, err = f.find(asked, p, id)
		return at.house != nil || at.run.State.Settled(), err
	})
	if errors.Is(err, hint.ErrOver) {
		err = nil
	}
	return at, err
}

// Output returns a page. Of what hasn't begun there is nothing yet.
func (f *Front) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	at, err := f.at(ctx, p, id)
	if err == nil && at.house == nil && !at.run.State.Settled() && req.Wait > 0 && time.Duration(req.Wait) <= paddock.MaxWait {
		limited, cancel := context.WithTimeout(ctx, time.Duration(req.Wait))
		defer cancel()
		if at, err = f.placed(limited, p, id); err == nil {
			err = ctx.Err()
		}
		req.Wait = 0
	}
	switch {
	case err != nil:
		return paddock.Page{}, err
	case at.house != nil:
		page, err := at.house.Output(ctx, p, id, req)
		if !answers.IsHidden(err) || at.row == nil || !at.row.Started.IsZero() {
			return page, answers.Gone(err, at.row)
		}
		// It was claimed, and its machine hasn't begun it yet, or never will.
		if err := answers.Pass(ctx, at.run, req, tick); err != nil {
			return paddock.Page{}, err
		}
		return answers.Nothing(at.run, req), nil
	case at.row.Started.IsZero() && at.run.State != paddock.Lost: // what was given up may have begun
		return answers.Nothing(at.run, req), nil
	case at.row.Worker == f.cfg.Worker && at.run.State.Settled(): // by the disk here, it isn't
		return paddock.Page{}, answers.Gone(answers.Hidden(), at.row)
	}
	return paddock.Page{}, paddock.Refused(paddock.Away, "The output of run %s is on the worker %s, which isn't connected to this server now.", id, at.row.Worker)
}

// Detail returns the whole record of a run, as far as it is known.
func (f *Front) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error) {
	at, err := f.find(ctx, p, id)
	if err != nil {
		return app.Detail{}, err
	}
	if at.house != nil {
		d, err := at.house.Detail(ctx, p, id)
		if err == nil {
			d.Run, err = f.told(ctx, p, id, at, d.Run, nil)
		}
		if !answers.IsHidden(err) {
			return d, err
		}
	}
	d := app.Detail{Run: at.run, EnvironmentNames: []string{}}
	d.Request = paddock.Request{Principal: at.run.Principal, Door: at.run.Door, Command: paddock.Command{Argv: at.run.Argv, Workspace: at.run.Workspace, Dir: at.run.Dir, Label: at.run.Label}}
	if o, ok := rows.Order(*at.row, &f.cfg.Key.Public); ok {
		d.Request.Command.Terminal = o.Request.Command.Terminal
		if names := o.Request.Command.EnvironmentNames(); names != nil {
			d.EnvironmentNames = names
		}
	}
	return d, nil
}

// Kill ends the run, wherever it is, and returns its record as everybody is told of it: it may
// have been given up before.
func (f *Front) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	run, err := f.App.Kill(ctx, p, id, req)
	switch {
	case err == nil && (!f.cfg.Shared || req.NoWait || !run.State.Settled()):
		return f.ours(ctx, id, run)
	case err == nil: // its row says so in a moment
		f.cfg.Changed.Ring()
		return f.ended(ctx, p, id)
	case !answers.IsHidden(err):
		return run, err
	}
	v, err := rows.Canceled(p, req.Reason, f.cfg.Now())
	if err != nil {
		return paddock.Run{}, err
	}
	row, err := f.cfg.Runs.Cancel(ctx, rows.Scope(p), id, p.ID, req.Reason, v)
	if err != nil {
		return paddock.Run{}, answers.Unless(err)
	}
	f.cfg.Changed.Ring()
	f.cfg.Told.Ring()
	if run = f.record(row); run.State.Settled() || req.NoWait {
		return run, nil
	}
	return f.ended(ctx, p, id)
}

// ended is a run whose end was asked for, when it has ended or a while has passed.
func (f *Front) ended(ctx context.Context, p paddock.Principal, id paddock.RunID) (run paddock.Run, err error) {
	limited, cancel := context.WithTimeout(ctx, f.ending)
	defer cancel()
	err = f.until(limited, func() (bool, error) {
		at, err := f.find(ctx, p, id)
		run = at.run
		return run.State.Settled(), err
	})
	return run, hint.Over(ctx, err)
}

// Type asks something of the terminal of a run, wherever it is. Who sits there before the run
// has begun is heard when it has.
func (f *Front) Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	limited, cancel := context.WithTimeout(ctx, f.begin)
	defer cancel()
	var early error // why it can't be typed yet
	err := f.until(limited, func() (bool, error) {
		at, err := f.at(ctx, p, id)
		early = nil
		switch {
		case err != nil:
			return true, err
		case at.house != nil:
			err = at.house.Type(ctx, p, id, t)
			if !answers.IsHidden(err) || at.row == nil || at.run.State.Settled() || !at.row.Started.IsZero() {
				return true, err
			}
			early = answers.NotBegun()
		case at.run.State.Settled() || at.row.Worker == "" || at.row.Worker == f.cfg.Worker:
			early = answers.NotBegun()
		default: // its machine is away
			return true, paddock.Refused(paddock.Away, "The terminal of run %s is on the worker %s, which isn't connected to this server now.", id, at.row.Worker)
		}
		return at.run.State.Settled(), nil
	})
	if err = hint.Over(ctx, err); err == nil {
		err = early
	}
	return err
}
