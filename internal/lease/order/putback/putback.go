// Package putback finds out that the notes of orders that were followed are older than the
// rows of the queue: that a disk, a state directory or a part of it was put back. What was
// followed since isn't known there any more, and who owns the database could have it
// followed once more; so nothing older is.
//
// # Limits
//
// Rows and notes that were put back together look as they did, and so does whatever is
// younger than [Slack]. Who changes the database before it is looked at can hide rows; who
// makes up some has what waits refused, which he could have had without. Of what a worker
// took in a day, only the newest hundred thousand runs that anybody queued are looked at.
package putback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/lease/order"
	"paddock/internal/store"
)

const (
	// Every is how often a process writes down that the notes are kept.
	Every = time.Minute
	// Slack is by how much rows may be newer than that: a machine that stood still, or whose
	// disk was slow, has written nothing for a while.
	Slack = 5 * time.Minute
	// mostRows is how many rows are looked at. Where so many are newer than the notes, and
	// none is ours, what is behind them isn't known, and counts as ours.
	mostRows = 100_000
)

// A Lister lists rows. [store.Store] is one.
type Lister interface {
	Runs(ctx context.Context, s store.Scope, f store.RunFilter, after store.Cursor, most int) (store.Page[store.Run], error)
}

// Rows are the rows of a queue.
type Rows struct {
	Lister
	// Ours says when a row was last dealt with here, by the clock of who keeps the notes,
	// if it was.
	Ours func(store.Run) (time.Time, bool)
	// Back is by how much a row may be older than that.
	Back time.Duration
}

// A Gap is a time of which there are no notes.
type Gap struct {
	// Noted is until when they were kept; the zero time where there are none at all.
	Noted time.Time
	// Run is one that was dealt with at a later time, at At, and is of Made; or, if it is
	// empty, may have been by then: that of which nobody has looked behind.
	Run      paddock.RunID
	At, Made time.Time
}

// end is the time from which on an order can't be one that was followed in the gap: now, but
// where the clock was put back together with the disk, and so is behind the rows.
func (g *Gap) end(now time.Time) time.Time {
	const made = time.Second // rows tell times less exactly than orders
	if last := g.Made.Add(made); last.After(now) {
		return last
	}
	return now
}

func (g *Gap) String() string {
	until := "there are none"
	if !g.Noted.IsZero() {
		until = "they end at " + g.Noted.UTC().Format(time.RFC3339)
	}
	if g.Run == "" {
		return fmt.Sprintf("whether the notes of orders that were followed (nonces) were put back isn't known: %s, and others queued more since than is looked at, which is %d runs. %s", until, mostRows, follows)
	}
	return fmt.Sprintf("the notes of orders that were followed (nonces) were put back or removed: %s, and run %s is of %s. %s", until, g.Run, g.At.UTC().Format(time.RFC3339), follows)
}

const follows = "What was queued before now, and before then, is refused here, since it may have been carried out; ask for it again"

// Check looks for a gap, and has nothing followed that is from before its end. Nil is that
// there is none.
func Check(ctx context.Context, n *order.Nonces, rows Rows, now time.Time) (*Gap, error) {
	gap, err := find(ctx, n, rows, now)
	if err != nil {
		return nil, err
	}
	if gap == nil {
		return nil, n.Note(now)
	}
	if err := n.From(gap.end(now)); err != nil {
		return nil, err
	}
	// That row has been seen: it isn't to be found at each start until its time has come.
	return gap, errors.Join(n.Note(now), n.Note(gap.At))
}

// Ahead says what follows from times in the notes that this clock hasn't come to; empty where
// there are none. A wrong clock wrote them, now or then, or a row of a wrong time led to them.
func Ahead(n *order.Nonces, now time.Time) (string, error) {
	noted, _, err := n.Noted()
	if err != nil {
		return "", err
	}
	form := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	switch from := n.Complete(); {
	case from.After(now.Add(order.Skew)):
		return fmt.Sprintf("everything that is queued before %s is refused, and by this clock it is %s: set the clock right; or, if it is right, remove nonces/complete-from and begin again", form(from), form(now)), nil
	case noted.After(now.Add(Slack)):
		return fmt.Sprintf("the notes of orders that were followed (nonces/noted) are of %s, and by this clock it is %s: until then it isn't noticed when they are put back. If a clock was wrong, nothing else follows", form(noted), form(now)), nil
	}
	return "", nil
}

func find(ctx context.Context, n *order.Nonces, rows Rows, now time.Time) (*Gap, error) {
	until, bare, err := n.Noted()
	if err != nil || until.IsZero() && !bare { // of an earlier version, which wrote down no time
		return nil, err
	}
	after := until.Add(Slack)
	if until.IsZero() {
		after = now.Add(-order.Usual) // of orders that are still good there were notes
	}
	var at store.Cursor
	var last time.Time
	for range mostRows / store.MostPage {
		page, err := rows.Runs(ctx, store.Everyone(), store.RunFilter{}, at, store.MostPage)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Items {
			if row.Created.Time.Before(after.Add(-rows.Back)) {
				return nil, nil
			}
			last = row.Created.Time
			dealt, ours := rows.Ours(row)
			if ours && dealt.After(after) && (!until.IsZero() || !row.Started.IsZero()) {
				return &Gap{Noted: until, Run: row.ID, At: dealt, Made: row.Created.Time}, nil
			}
		}
		if at = page.Next; !page.More {
			return nil, nil
		}
	}
	if until.IsZero() || !last.After(after) {
		return nil, nil // of what is older than the notes it isn't said
	}
	return &Gap{Noted: until, At: last, Made: last}, nil
}

// Keep writes down that the notes are kept until ctx ends, and once more then.
func Keep(ctx context.Context, n *order.Nonces, now func() time.Time, warn func(error)) {
	t := time.NewTicker(Every)
	defer t.Stop()
	for {
		if err := n.Note(now()); err != nil {
			warn(fmt.Errorf("the notes of followed orders: %w", err))
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			if err := n.Note(now()); err != nil {
				warn(fmt.Errorf("the notes of followed orders: %w", err))
			}
			return
		}
	}
}

// Server is the queue of a server: what it queued itself, by a key that has the label, or
// all of it.
func Server(l Lister, label string, all bool) Rows {
	return Rows{Lister: l, Ours: func(r store.Run) (time.Time, bool) {
		ours := all
		for _, need := range r.Needs {
			ours = ours || need == label
		}
		return r.Created.Time, ours
	}}
}

// Worker is the queue of a worker: what it took.
func Worker(l Lister, id store.WorkerID) Rows {
	return Rows{Lister: l, Back: order.Usual, Ours: func(r store.Run) (time.Time, bool) {
		return r.Claimed.Time, r.Worker == id && !r.Started.IsZero()
	}}
}
