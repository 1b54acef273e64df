// Package account writes down how a run ended and tells the journal, also when
// somebody else had to say so first. It is the only thing that a supervisor tells it.
//
// # Limits
//
// The outcome in the run's directory is the truth and comes first. When the
// journal can't be told, whoever uses the state directory next does it.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/journal"
	"paddock/internal/journal/told"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/links/later"
)

// patience is how long others may hold the journal's lock.
const patience = 10 * time.Second

// End adds the end of the run to the journal at path, if there is one.
func End(ctx context.Context, path string, dir *rundir.Dir, o paddock.Outcome, now func() time.Time) error {
	if path == "" {
		return nil
	}
	return noted(dir, tell(ctx, path, now, endOf(dir, o)))
}

// noted notes that the journal has the end of the run, unless err says why not.
func noted(dir *rundir.Dir, err error) error {
	if err == nil {
		err = dir.MarkNoted(0)
	}
	if err != nil {
		return fmt.Errorf("the run's end isn't in the journal: %w", err)
	}
	return nil
}

// Later is for an outcome that came second: if the run was called lost meanwhile,
// what the supervisor knows is kept as an addendum, and told.
func Later(ctx context.Context, path string, dir *rundir.Dir, o paddock.Outcome, now func() time.Time) error {
	is, err := dir.Outcome()
	if err != nil || is == nil || is.State != paddock.Lost {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
	defer cancel()
	a := paddock.Addendum{At: now(), Source: paddock.FromSupervisor, Note: "the supervisor was there after all", Outcome: o}
	added, err := later.Add(ctx, dir, a)
	if err != nil || !added || path == "" {
		return err
	}
	return tellRest(ctx, path, dir, *is, now)
}

// tellRest tells what the journal doesn't have yet of the end and of what became known
// later, since others may be about to tell it, too.
func tellRest(ctx context.Context, path string, dir *rundir.Dir, is paddock.Outcome, now func() time.Time) error {
	all, err := dir.Addenda()
	if err != nil {
		return err
	}
	w, err := writer.Open(path, writer.Options{Now: now})
	if err != nil {
		return err
	}
	end := endOf(dir, is)
	err = errors.Join(w.AppendWhere(ctx, func() ([]journal.Entry, error) { return told.Missing(path, end, all) }), w.Close())
	if err != nil {
		return err
	}
	failpoint.Here("addendum/told")
	return errors.Join(dir.MarkNoted(len(all)), later.Done(ctx, dir))
}

// endOf is the entry of the run's end.
func endOf(dir *rundir.Dir, o paddock.Outcome) journal.Entry {
	started, err := dir.Started()
	if err != nil || started == nil {
		started = &rundir.Started{} // what can't be read isn't told
	}
	return journal.EndOf(dir.ID(), o, &started.Enforced, started.Isolation, started.StageDigest)
}

func tell(ctx context.Context, path string, now func() time.Time, e journal.Entry) error {
	w, err := writer.Open(path, writer.Options{Now: now})
	if err != nil {
		return err
	}
	return errors.Join(appended(ctx, w, e), w.Close())
}

func appended(ctx context.Context, w *writer.Writer, e journal.Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return w.Append(ctx, e)
}
