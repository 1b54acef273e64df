package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/losses"
	"paddock/internal/rundir/record/durable/outcome/addenda"
	"paddock/internal/rundir/record/durable/outcome/reserve"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/rundir/record/process"
)

// Vacant returns the run's lock, taken, when nobody had it; the caller closes
// it. Only one who has the claim may ask: two who ask at once would take each
// other for the run's supervisor.
func Vacant(d *Dir) (*os.File, error) {
	if lasts, err := waiting.Lasts(d.path); err != nil || lasts {
		return nil, err // nobody needs to
	}
	flags := os.O_RDWR | durable.NoFollow | syscall.O_NONBLOCK
	f, err := durable.OpenFile(d.file("lock"), flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Only a meddler can have removed it. Then the supervisor must be dead
		// by other evidence before its run is taken for lost.
		started, unreadable := d.Started()
		if unreadable == nil && started != nil && process.Alive(started.Supervisor) {
			return nil, nil
		}
		f, err = os.OpenFile(d.file("lock"), flags|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, err
	}
	got, err := durable.Lock(f)
	if err != nil || !got {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// SettleLost publishes that the run is lost, as well as that can be known: a file
// that can't be read is part of the evidence and doesn't leave the run open. What
// its supervisor had written of the end becomes an addendum. Deeper is what was
// found in its root.
func SettleLost(ctx context.Context, d *Dir, now func() time.Time, deeper *paddock.Deeper) (first bool, err error) {
	torn, readErr := d.tornStart()
	torn = torn && readErr == nil
	o := found(d, now())
	o.Deeper = deeper
	o.Stdout, err = durable.Summarize(ctx, d.file("stdout"))
	if err == nil {
		o.Stderr, err = durable.Summarize(ctx, d.file("stderr"))
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		o.Reason.Detail = "the kept output can't be read: " + err.Error()
	}
	if err := losses.Add(d.path, &o.Stdout, &o.Stderr); err != nil {
		o.Reason.Evidence.Note += "; " + err.Error()
	}
	o.SettledAt = now()
	if torn {
		// Nobody but us has the run. Beside an outcome it would be damage, so it
		// is put aside.
		o.Reason.Evidence.Note += ", and is kept as started.torn"
		if err := os.Rename(d.file("started.json"), d.file("started.torn")); err != nil {
			return false, err
		}
	}
	if first, err = d.PublishOutcome(o); err == nil {
		err = d.tidy(now)
	}
	return first, err
}

// tidy removes what a supervisor that was ended has left of a settled run. What
// it knew of the end of one that was called lost is kept.
func (d *Dir) tidy(now func() time.Time) error {
	o, err := d.Outcome()
	if err == nil && o != nil && o.State == paddock.Lost {
		_, err = addenda.Gather(d.path, *o, now())
	}
	if err != nil {
		return err
	}
	return durable.Tidy(d.path, reserve.Name, "control", "before.json", waiting.Name)
}

// found is the outcome of a run that nobody looks after, without its streams.
func found(d *Dir, seen time.Time) paddock.Outcome {
	ev := paddock.Evidence{SeenAt: seen, BootIDNow: process.BootID(), Note: "nobody held the run's lock and there was no outcome"}
	sealed, err := d.Sealed()
	if err != nil {
		ev.Note += "; " + err.Error()
	}
	ev.BootIDThen = sealed.BootID
	started, err := d.Started()
	torn, readErr := d.tornStart()
	switch {
	case torn && readErr == nil:
		ev.Note += "; " + d.file("started.json") + " was cut short, as by a power cut"
	case err != nil:
		ev.Note += "; " + err.Error()
	case started == nil:
		ev.Note += "; the program was never said to have started"
	default:
		ev.Supervisor, ev.SupervisorAlive = &started.Supervisor, process.Alive(started.Supervisor)
		if started.Supervisor.BootID != "" {
			ev.BootIDThen = started.Supervisor.BootID
		}
	}
	o := paddock.Outcome{State: paddock.Lost, Reason: paddock.Reason{Kind: paddock.ReasonLost, Evidence: &ev}, EndedAt: seen}
	if ev.BootIDThen != "" && ev.BootIDNow != "" && ev.BootIDThen != ev.BootIDNow {
		o.Reason.Kind = paddock.ReasonHost
	}
	waiting.Gone(d.path, &o)
	return o
}

// Unattended says whether nobody looks after the run, without keeping anybody
// from it; known is false where that can't be found out.
func Unattended(d *Dir) (free, known bool) {
	if lasts, err := waiting.Lasts(d.path); err != nil || lasts {
		return false, err == nil
	}
	f, err := os.OpenFile(d.file("lock"), os.O_RDONLY|durable.NoFollow|syscall.O_NONBLOCK, 0)
	if err != nil {
		started, err := d.Started()
		restarted := err == nil && started != nil && started.Supervisor.BootID != process.BootID()
		return restarted, restarted
	}
	free, err = durable.LockShared(f)
	return free, errors.Join(err, f.Close()) == nil
}

// Presume is run as one sees it who can't write: lost, if nobody looks after it.
// Where that can't be known it stays as it is.
func Presume(d *Dir, run paddock.Run, now time.Time) (paddock.Run, error) {
	if free, known := Unattended(d); !known || !free {
		return run, nil
	}
	o := found(d, now)
	o.Reason.Evidence.Note += "; this is not written down, as the state directory is only read"
	o.Stdout, o.Stderr = run.Stdout, run.Stderr
	run.State, run.Outcome, run.Silent = o.State, &o, 0
	return run, nil
}

// TellEnd removes what a supervisor that was ended has left of a settled run,
// calls tell unless the end is noted, and says whether all of it is done: not
// so while its supervisor still is about to. Only one who has the claim may ask.
func TellEnd(d *Dir, tell func(*Dir) error, now func() time.Time) (told bool, err error) {
	f, err := Vacant(d)
	if err != nil || f == nil {
		return false, err
	}
	err = d.tidy(now)
	if err == nil {
		var noted bool
		if noted, err = d.Noted(); err == nil && !noted {
			err = tell(d)
		}
	}
	err = errors.Join(err, f.Close())
	return err == nil, err
}
