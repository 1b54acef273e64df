// Package agree brings what a store has of runs and what a state directory has of them
// together again, after one of both was restored, lost or changed by hand.
//
// The directory is the truth of what happened on its machine. A run that is over and has no
// row gets one, whose owner is whom the record names; a row that waits in the queue for what
// was carried out here long ago is settled as the record says; a row whose record was removed
// is marked as pruned. Everything else is told of, and left to who can mend it. What is
// changed is written into the journal before.
//
// # Limits
//
// Nothing is started, ended or removed, and no row that is settled changes its state. It
// knows one machine: of runs of other workers it says nothing. Idempotency keys aren't in
// records, so adopted runs have none.
package agree

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/dispatch/rows"
	"paddock/internal/rundir"
	"paddock/internal/store"
)

// Recent is how young something may be that somebody is just making, where nobody says.
const Recent = 10 * time.Minute

// page is how many are looked at together.
const page = 200

// A Kind says what doesn't fit.
type Kind string

// The kinds.
const (
	NoRow       Kind = "no-row"       // a run that was queued once, and that the store doesn't know
	NoDirectory Kind = "no-directory" // a row of this machine's worker whose run isn't here
	Differs     Kind = "differs"      // both are there and say different things
	Unreadable  Kind = "unreadable"   // a record that can't be read
)

// A Mend says what mends it.
type Mend string

// What mends: the reconciling itself, the worker at its next beat, or nobody by itself.
const (
	Done    Mend = "done"
	ByBeat  Mend = "beat"
	Nothing Mend = ""
)

// A Finding is one run about which store and directory don't agree.
type Finding struct {
	Kind   Kind          `json:"kind"`
	Run    paddock.RunID `json:"run,omitempty"`
	Detail string        `json:"detail"`
	// Mend says what mends it; with done it was, or would be, by reconciling.
	Mend Mend `json:"mend,omitempty"`
}

// A Report is what was looked at.
type Report struct {
	Runs    int `json:"runs"`    // of the directory
	Rows    int `json:"rows"`    // of this machine's worker, or of nobody's
	Others  int `json:"others"`  // of other workers: not looked for here
	Changed int `json:"changed"` // or would be
	Left    int `json:"left"`    // findings that nothing here mends
}

// A Config says what is brought together.
type Config struct {
	State  *rundir.State
	Store  store.Runs
	Worker store.WorkerID
	// Alone says that every other worker was this machine's, too: one of a key that isn't
	// here any more, as after a restore. What it has open is Worker's when that begins.
	Alone bool
	Now   func() time.Time
	// Older is how old must be what looks as if somebody were in the middle of it.
	Older time.Duration
	// Record writes into the journal what is about to be changed; nil changes nothing.
	Record func(ctx context.Context, what string) error
	// Each is told of each finding.
	Each func(Finding) error

	most int // of runs and of rows, the newest, are looked at; 0 is all
}

type both struct {
	Config
	report Report
}

// Reconcile looks at all runs and rows.
func Reconcile(ctx context.Context, c Config) (Report, error) {
	b := &both{Config: c}
	if err := b.directories(ctx); err != nil {
		return b.report, err
	}
	return b.report, b.rows(ctx)
}

// found tells of something that only others mend, or nobody.
func (b *both) found(k Kind, id paddock.RunID, m Mend, format string, args ...any) error {
	if m == Nothing {
		b.report.Left++
	}
	return b.Each(Finding{k, id, fmt.Sprintf(format, args...), m})
}

// mend does what mends something, unless nothing is to be changed. That somebody did the
// same just before is as well.
func (b *both) mend(ctx context.Context, k Kind, id paddock.RunID, what string, do func() error) error {
	if b.Record != nil {
		if err := b.Record(ctx, fmt.Sprintf("run %s: %s", id, what)); err != nil {
			return err
		}
		err := do()
		if errors.Is(err, store.ErrOver) || errors.Is(err, store.ErrExists) {
			return nil
		}
		if errors.Is(err, store.ErrInvalid) {
			return b.found(k, id, Nothing, "%s: the store doesn't take it: %v", what, err)
		}
		if err != nil {
			return fmt.Errorf("run %s: %s: %w", id, what, err)
		}
	}
	b.report.Changed++
	return b.found(k, id, Done, "%s", what)
}

// directories looks for the rows of runs that are here.
func (b *both) directories(ctx context.Context) error {
	var at paddock.RunID
	for {
		runs, next, err := b.State.List(at, page, rundir.Wanted{})
		var some *rundir.Unreadable
		if errors.As(err, &some) {
			for _, why := range some.Runs {
				if err := b.found(Unreadable, "", Nothing, "%v", why); err != nil {
					return err
				}
			}
		} else if err != nil {
			return err
		}
		for _, run := range runs {
			b.report.Runs++
			if err := errors.Join(ctx.Err(), b.directory(ctx, run)); err != nil {
				return err
			}
		}
		if at = next; at == "" || b.most > 0 && b.report.Runs >= b.most {
			return nil
		}
	}
}

// directory looks for the row of a run.
func (b *both) directory(ctx context.Context, run paddock.Run) error {
	row, err := b.Store.Run(ctx, store.Everyone(), run.ID)
	if errors.Is(err, store.ErrNotFound) {
		return b.orphan(ctx, run)
	}
	if err != nil {
		return err
	}
	waits := row.State == paddock.Queued || row.State == paddock.Waiting
	switch {
	case waits && row.Worker == "" && run.Outcome != nil:
		v, err := verdict(*run.Outcome)
		if err != nil {
			return err
		}
		return b.mend(ctx, Differs, run.ID, "the queue has it, and it was carried out here: it is settled as "+string(run.State), func() error {
			_, err := b.Store.Turn(ctx, run.ID, v)
			return err
		})
	case waits && row.Worker == "" && run.State != paddock.Waiting && b.old(run.CreatedAt):
		return b.found(Differs, run.ID, Nothing, "the queue has it, and it goes on here; reconcile again when it is over")
	case row.Settled.IsZero() && run.Outcome != nil && b.ours(row) && b.old(run.Outcome.SettledAt):
		return b.found(Differs, run.ID, ByBeat, "it is %s here and %s in the store", run.State, row.State)
	case row.Settled.IsZero() && run.Outcome != nil && row.Worker != "" && !b.ours(row):
		return b.found(Differs, run.ID, Nothing, "it is %s here, and the store has it as another worker's, %s: is this the state directory of another machine?", run.State, row.Worker)
	case !row.Settled.IsZero() && run.Outcome != nil && row.State != run.State:
		return b.found(Differs, run.ID, Nothing, "it is %s here and %s in the store; what is settled doesn't change, and the record here is shown", run.State, row.State)
	case !row.Settled.IsZero() && run.Outcome == nil:
		return b.found(Differs, run.ID, ByBeat, "it goes on here and is %s in the store: its worker ends it", row.State)
	}
	return nil
}

// orphan looks at a run without a row. Only what was queued has one: runs of the command
// line, of delegates and of git tools never had.
func (b *both) orphan(ctx context.Context, run paddock.Run) error {
	d, err := b.State.Run(run.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	sealed, err := d.Sealed()
	if err != nil {
		return b.found(Unreadable, run.ID, Nothing, "%v", err)
	}
	if req := sealed.Request; req.Principal.Kind != paddock.User || req.Room != "" || run.State == paddock.Banked {
		return nil
	}
	if run.Outcome == nil {
		if !b.old(run.CreatedAt) {
			return nil
		}
		return b.found(NoRow, run.ID, Nothing, "it goes on, and the store doesn't know it; reconcile again when it is over")
	}
	row, nonce := rows.Adopted(run, sealed.Request)
	v, err := verdict(*run.Outcome)
	if err != nil {
		return err
	}
	return b.mend(ctx, NoRow, run.ID, "the store doesn't know it: it is adopted for "+run.Principal.ID+" as "+string(run.State), func() error {
		// It waits for nobody's approval, so between both no worker can take it; if we
		// are ended there, the next reconciling finds a row that waits.
		if _, _, err := b.Store.Enqueue(ctx, row, nonce); err != nil {
			return err
		}
		_, err := b.Store.Turn(ctx, run.ID, v)
		return err
	})
}

// rows looks for the directories of what this machine's worker has, or had.
func (b *both) rows(ctx context.Context) error {
	var at store.Cursor
	for {
		got, err := b.Store.Runs(ctx, store.Everyone(), store.RunFilter{}, at, page)
		if err != nil {
			return err
		}
		for _, row := range got.Items {
			if row.Worker != "" && !b.ours(row) {
				b.report.Others++
				continue
			}
			b.report.Rows++
			if err := errors.Join(ctx.Err(), b.row(ctx, row)); err != nil {
				return err
			}
		}
		if at = got.Next; !got.More || b.most > 0 && b.report.Rows+b.report.Others >= b.most {
			return nil
		}
	}
}

// row looks for the directory of a run that this machine's worker claimed.
func (b *both) row(ctx context.Context, row store.Run) error {
	if row.Worker == "" {
		return nil // it was never begun, or adopted
	}
	_, err := b.State.Run(row.ID)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case row.Settled.IsZero() && b.old(row.Claimed.Time):
		return b.found(NoDirectory, row.ID, ByBeat, "it is %s in the store, and there is no record of it here: its worker settles it", row.State)
	case !row.Settled.IsZero() && row.Pruned.IsZero() && !row.Started.IsZero() && b.old(row.Settled.Time):
		now := store.At(b.Now())
		if row.KeepUntil.Time.After(now.Time) {
			return b.found(NoDirectory, row.ID, Nothing, "its output was to be kept until %s, and its record isn't here any more", row.KeepUntil.UTC().Format(time.RFC3339))
		}
		return b.mend(ctx, NoDirectory, row.ID, "its record was removed: the store notes that its output is gone", func() error {
			err := b.Store.PrunedRun(ctx, row.ID, now)
			if errors.Is(err, store.ErrNotFound) {
				return store.ErrOver // somebody noted it just before
			}
			return err
		})
	}
	return nil
}

// ours reports whether this machine's worker has a run, or had it.
func (b *both) ours(row store.Run) bool {
	return row.Worker != "" && (b.Alone || row.Worker == b.Worker)
}

func (b *both) old(since time.Time) bool { return b.Now().Sub(since) >= b.Older }

// verdict is how a run ended, as a row keeps it.
func verdict(o paddock.Outcome) (store.Verdict, error) {
	text, err := json.Marshal(o, json.Deterministic(true))
	if err == nil && len(text) > store.MostOutcome {
		o.Denied, o.Deeper = nil, nil
		text, err = json.Marshal(o, json.Deterministic(true))
	}
	return store.Verdict{State: o.State, Outcome: text, At: store.At(o.SettledAt)}, err
}
