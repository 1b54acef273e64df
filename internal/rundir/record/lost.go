package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/losses"
	"paddock/internal/rundir/record/process"
)

// Vacant returns the run's lock, taken, when nobody had it; the caller closes
// it. Only one who has the claim may ask: two who ask at once would take each
// other for the run's supervisor.
func Vacant(d *Dir) (*os.File, error) {
	flags := os.O_RDWR | durable.NoFollow | syscall.O_NONBLOCK
	f, err := os.OpenFile(d.file("lock"), flags, 0)
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
// that can't be read is part of the evidence and doesn't leave the run open.
func SettleLost(ctx context.Context, d *Dir, now func() time.Time) (first bool, err error) {
	seen := now()
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
		// Nobody but us has the run. Beside an outcome it would be damage, so it
		// is put aside.
		ev.Note += "; " + d.file("started.json") + " was cut short, as by a power cut, and is kept as started.torn"
		if err := os.Rename(d.file("started.json"), d.file("started.torn")); err != nil {
			return false, err
		}
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
	o.Stdout, err = durable.Summarize(ctx, d.file("stdout"))
	o.Stderr = paddock.StreamSummary{}
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
		ev.Note += "; " + err.Error()
	}
	o.SettledAt = now()
	if first, err = d.PublishOutcome(o); err == nil {
		err = durable.Tidy(d.path, "reserve", "control")
	}
	return first, err
}

// TellEnd calls tell unless the settled run's end is noted, removes what a
// supervisor that was ended has left, and says whether all of it is done: not
// so while its supervisor still is about to. Only one who has the claim may ask.
func TellEnd(d *Dir, tell func(*Dir) error) (told bool, err error) {
	f, err := Vacant(d)
	if err != nil || f == nil {
		return false, err
	}
	noted, err := d.Noted()
	if err == nil && !noted {
		err = tell(d)
	}
	if err == nil {
		err = durable.Tidy(d.path, "reserve", "control")
	}
	err = errors.Join(err, f.Close())
	return err == nil, err
}

// Sweep removes a temporary directory that nobody has locked. One without a lock file
// may be just being made: by making the file we take it from its maker, who
// finds it there and begins again (see makeLocked).
func Sweep(path string) error {
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE|durable.NoFollow|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // published or abandoned meanwhile; a stray file is not ours to remove
	}
	if err != nil {
		return err
	}
	got, err := durable.Lock(f)
	if err == nil && got {
		err = os.RemoveAll(path)
	}
	return errors.Join(err, f.Close())
}

// SweepAll does so with the entries of the directory at tmp.
func SweepAll(tmp string, entries []fs.DirEntry) error {
	var faults []error
	for _, e := range entries {
		if err := Sweep(filepath.Join(tmp, e.Name())); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
