package tables

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/tables/form"
	"paddock/internal/store/tables/queries"
)

func worker(r queries.Worker) store.Worker { return store.Worker(r) }

// fenced makes a worker that isn't there one who is given up: he gets no more.
func (t *Tables) fenced(err error) error {
	if errors.Is(t.say(err), store.ErrNotFound) {
		return store.ErrFenced
	}
	return err
}

// Enlist begins an epoch.
func (t *Tables) Enlist(ctx context.Context, id store.WorkerID, labels store.Words, capacity int64, version string, now store.Moment) (store.Worker, error) {
	if err := errors.Join(form.Labels(labels), form.Words(version)); err != nil {
		return store.Worker{}, err
	}
	if capacity < 0 {
		return store.Worker{}, fmt.Errorf("%w capacity", store.ErrInvalid)
	}
	r, err := t.does.Enlist(ctx, queries.EnlistParams{Labels: labels, Capacity: capacity, Version: version, Now: now, ID: id})
	return worker(r), t.say(err)
}

// A line is the queue within the transaction of a claim.
type line struct {
	q      *queries.Queries
	worker store.Worker
}

func (l line) Worker() store.Worker { return l.worker }

func (l line) Held(ctx context.Context) (int64, error) { return l.q.CountLive(ctx, l.worker.ID) }

func (l line) Owners(ctx context.Context) ([]store.Share, error) {
	rows, err := l.q.QueuedOwners(ctx)
	shares := make([]store.Share, len(rows))
	for i, r := range rows {
		shares[i] = store.Share{Owner: store.UserID(r.Owner), Live: r.Live}
		if err := shares[i].LastClaimed.Scan(r.LastClaimed); err != nil {
			return nil, err
		}
	}
	return shares, err
}

func (l line) Busy(ctx context.Context) (map[store.WorkspaceID]int64, error) {
	rows, err := l.q.BusyWorkspaces(ctx)
	busy := map[store.WorkspaceID]int64{}
	for _, r := range rows {
		if r.Workspace != "" {
			busy[r.Workspace] = r.Live
		}
	}
	return busy, err
}

func (l line) Queued(ctx context.Context, owner store.UserID, after *store.Waiter, most int) ([]store.Waiter, error) {
	p := queries.QueuedRunsParams{Owner: owner, Priority: math.MaxInt64, Most: int32(min(max(most, 0), store.MostPage))}
	if after != nil {
		p.Priority, p.Created, p.ID = after.Priority, after.Created, after.ID
	}
	rows, err := l.q.QueuedRuns(ctx, p)
	return all(rows, func(r queries.QueuedRunsRow) store.Waiter { return store.Waiter(r) }), err
}

// Claim gives the worker what pick chose.
func (t *Tables) Claim(ctx context.Context, id store.WorkerID, epoch int64, term store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error)) ([]store.Run, error) {
	var got []store.Run
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		if err := q.TakeTurn(ctx, "claims"); err != nil {
			return err
		}
		got, err = t.claim(ctx, q, id, epoch, term, pick)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// claim claims while it is this one's turn.
func (t *Tables) claim(ctx context.Context, q *queries.Queries, id store.WorkerID, epoch int64, term store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error)) ([]store.Run, error) {
	who, err := q.WorkerInEpoch(ctx, queries.WorkerInEpochParams{ID: id, Epoch: epoch})
	if err != nil {
		return nil, t.fenced(err)
	}
	ids, err := pick(ctx, line{q, worker(who)})
	if err != nil {
		return nil, err
	}
	var got []store.Run
	for _, run := range ids {
		r, err := q.ClaimRun(ctx, queries.ClaimRunParams{Worker: id, Now: term.Now, ID: run})
		if errors.Is(t.say(err), store.ErrNotFound) {
			continue // canceled meanwhile
		}
		if err != nil {
			return nil, err
		}
		got = append(got, store.Run(r))
	}
	return got, nil
}

// Offer adds r and gives the worker what pick chose.
func (t *Tables) Offer(ctx context.Context, r store.Run, nonce string, id store.WorkerID, epoch int64, term store.Term,
	pick func(context.Context, store.Line) ([]paddock.RunID, error), chosen func([]store.Run) error) (kept store.Run, again bool, got []store.Run, err error) {
	if err := errors.Join(form.Run(r), form.Nonce(nonce)); err != nil {
		return store.Run{}, false, nil, err
	}
	err = t.change(ctx, func(q *queries.Queries) (err error) {
		got = nil
		// Before the run, as a claim has it: two never wait for each other.
		if err := q.TakeTurn(ctx, "claims"); err != nil {
			return err
		}
		if kept, again, err = t.add(ctx, q, r, nonce); err != nil || again {
			return err
		}
		if got, err = t.claim(ctx, q, id, epoch, term, pick); err != nil {
			return err
		}
		return chosen(got)
	})
	if err != nil {
		return store.Run{}, false, nil, err
	}
	return kept, again, got, nil
}

// Waits says whether anything is queued.
func (t *Tables) Waits(ctx context.Context) (bool, error) {
	rows, err := t.asks.QueuedOwners(ctx)
	return len(rows) > 0, t.say(err)
}

// Holds is what the worker has.
func (t *Tables) Holds(ctx context.Context, id store.WorkerID, epoch int64) ([]store.Run, error) {
	if _, err := t.asks.WorkerInEpoch(ctx, queries.WorkerInEpochParams{ID: id, Epoch: epoch}); err != nil {
		return nil, t.say(t.fenced(err))
	}
	held, err := t.asks.HeldRuns(ctx, id)
	return all(held, run), t.say(err)
}

// Renew is a beat.
func (t *Tables) Renew(ctx context.Context, id store.WorkerID, epoch int64, term store.Term) (store.Worker, []store.Run, error) {
	var who queries.Worker
	var held []queries.Run
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		who, err = q.BeatWorker(ctx, queries.BeatWorkerParams{Now: term.Now, LeaseUntil: term.Until, LostAfter: term.LostAfter, ID: id, Epoch: epoch})
		if err != nil {
			return t.fenced(err)
		}
		if err := q.ReachRuns(ctx, id); err != nil {
			return err
		}
		held, err = q.HeldRuns(ctx, id)
		return err
	})
	if err != nil {
		return store.Worker{}, nil, err
	}
	return worker(who), all(held, run), nil
}

// held looks why a change of a run that somebody holds changed nothing: fine says
// that what is kept is as good.
func (t *Tables) held(ctx context.Context, h store.Held, do func(*queries.Queries) (int64, error), fine func(queries.Run) bool) error {
	return t.change(ctx, func(q *queries.Queries) error {
		n, err := do(q)
		if err != nil || n > 0 {
			return err
		}
		r, err := q.HeldRun(ctx, queries.HeldRunParams{ID: h.Run, Worker: h.Worker, Fence: h.Fence, Epoch: h.Epoch})
		switch {
		case err != nil:
			return t.fenced(err)
		case fine(r):
			return nil
		}
		return store.ErrOver
	})
}

// Start writes that the program runs.
func (t *Tables) Start(ctx context.Context, h store.Held, now store.Moment) error {
	return t.held(ctx, h, func(q *queries.Queries) (int64, error) {
		return q.StartRun(ctx, queries.StartRunParams{Now: now, ID: h.Run, Worker: h.Worker, Fence: h.Fence, Epoch: h.Epoch})
	}, func(r queries.Run) bool { return !r.Started.IsZero() && r.Settled.IsZero() })
}

// Advance writes how far it has come; older news than what is kept changes nothing.
func (t *Tables) Advance(ctx context.Context, h store.Held, n store.Heads) error {
	if err := form.Heads(n); err != nil {
		return err
	}
	return t.held(ctx, h, func(q *queries.Queries) (int64, error) {
		return q.AdvanceRun(ctx, queries.AdvanceRunParams{StdoutBytes: n.StdoutBytes, StderrBytes: n.StderrBytes, StdoutDigest: n.StdoutDigest,
			StderrDigest: n.StderrDigest, Events: n.Events, ID: h.Run, Worker: h.Worker, Fence: h.Fence, Epoch: h.Epoch})
	}, func(r queries.Run) bool { return r.Settled.IsZero() })
}

// Settle writes how it ended.
func (t *Tables) Settle(ctx context.Context, h store.Held, n store.Heads, v store.Verdict) error {
	if err := errors.Join(form.Heads(n), form.Verdict(v)); err != nil {
		return err
	}
	return t.held(ctx, h, func(q *queries.Queries) (int64, error) {
		if !v.Started.IsZero() { // none is changed where it is written already
			if _, err := q.StartRun(ctx, queries.StartRunParams{Now: v.Started, ID: h.Run, Worker: h.Worker, Fence: h.Fence, Epoch: h.Epoch}); err != nil {
				return 0, err
			}
		}
		return q.SettleRun(ctx, queries.SettleRunParams{State: v.State, Outcome: v.Outcome, Now: v.At,
			StdoutBytes: n.StdoutBytes, StderrBytes: n.StderrBytes, StdoutDigest: n.StdoutDigest, StderrDigest: n.StderrDigest,
			Events: n.Events, ID: h.Run, Worker: h.Worker, Fence: h.Fence, Epoch: h.Epoch})
	}, func(r queries.Run) bool { return r.State == v.State && string(r.Outcome) == string(v.Outcome) })
}

// Beats are of the workers that have runs.
func (t *Tables) Beats(ctx context.Context) ([]store.Beat, error) {
	rows, err := t.asks.Beats(ctx)
	return all(rows, func(r queries.BeatsRow) store.Beat {
		return store.Beat{Worker: r.ID, Epoch: r.Epoch, Beat: r.Beat, Live: r.Live, Unreachable: r.Unreachable,
			Lease: span(r.Lease), Lost: span(r.Lost)}
	}), t.say(err)
}

// span is a time between two moments as they are kept; what can't be one is none.
func span(us int64) time.Duration {
	return time.Duration(min(max(us, 0), math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// Miss makes a silent worker's runs unreachable.
func (t *Tables) Miss(ctx context.Context, b store.Beat) (int, error) {
	var n int64
	err := t.silent(ctx, b, func(q *queries.Queries) (err error) {
		n, err = q.MissRuns(ctx, b.Worker)
		return err
	})
	return int(n), err
}

// Lose settles a silent worker's runs.
func (t *Tables) Lose(ctx context.Context, b store.Beat, v store.Verdict) ([]paddock.RunID, error) {
	if err := form.Verdict(v); err != nil {
		return nil, err
	}
	var ids []paddock.RunID
	err := t.silent(ctx, b, func(q *queries.Queries) (err error) {
		ids, err = q.LoseRuns(ctx, queries.LoseRunsParams{State: v.State, Outcome: v.Outcome, Now: v.At, Worker: b.Worker})
		return err
	})
	return ids, err
}

// silent does something while the worker can't beat, if it is still at b.
func (t *Tables) silent(ctx context.Context, b store.Beat, do func(*queries.Queries) error) error {
	return t.change(ctx, func(q *queries.Queries) error {
		n, err := q.HoldWorker(ctx, queries.HoldWorkerParams{ID: b.Worker, Epoch: b.Epoch, Beat: b.Beat})
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrStale
		}
		return do(q)
	})
}

// AddWorker adds w.
func (t *Tables) AddWorker(ctx context.Context, w store.Worker) error {
	if err := form.Worker(w); err != nil {
		return err
	}
	return t.say(t.does.AddWorker(ctx, queries.AddWorkerParams{ID: w.ID, Name: w.Name, Credential: w.Credential, Labels: w.Labels, Capacity: w.Capacity, Mode: w.Mode, Created: w.Created}))
}

// Worker is the one with the id, also if it is removed.
func (t *Tables) Worker(ctx context.Context, id store.WorkerID) (store.Worker, error) {
	if err := readable(id); err != nil {
		return store.Worker{}, err
	}
	r, err := t.asks.Worker(ctx, id)
	return worker(r), t.say(err)
}

// WorkerByCredential is the one that shows it.
func (t *Tables) WorkerByCredential(ctx context.Context, credential store.Hash) (store.Worker, error) {
	if credential.IsZero() {
		return store.Worker{}, store.ErrNotFound
	}
	r, err := t.asks.WorkerByCredential(ctx, credential)
	return worker(r), t.say(err)
}

// Workers lists those that aren't removed.
func (t *Tables) Workers(ctx context.Context, after store.Cursor, most int) (store.Page[store.Worker], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.Worker]{}, err
	}
	rows, err := t.asks.Workers(ctx, queries.WorkersParams{Created: a.created, ID: store.WorkerID(a.id), Most: a.most})
	return page(t, a, rows, err, worker, func(w store.Worker) store.Cursor { return store.Cursor{Created: w.Created, ID: string(w.ID)} })
}

// SetWorkerMode says what work it gets.
func (t *Tables) SetWorkerMode(ctx context.Context, id store.WorkerID, m store.Mode) error {
	if err := form.Mode(m); err != nil {
		return err
	}
	return t.some(t.does.SetWorkerMode(ctx, queries.SetWorkerModeParams{Mode: m, ID: id}))
}

// TakeOver gives a worker the runs of all others.
func (t *Tables) TakeOver(ctx context.Context, id store.WorkerID) (int, error) {
	if err := readable(id); err != nil {
		return 0, err
	}
	var n int64
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		if err := q.TakeTurn(ctx, "claims"); err != nil {
			return err
		}
		if w, err := q.Worker(ctx, id); err != nil || !w.Removed.IsZero() {
			return cmp.Or(err, sql.ErrNoRows)
		}
		n, err = q.TakeOverRuns(ctx, id)
		return err
	})
	return int(n), err
}

// RemoveWorker takes away one that has no runs.
func (t *Tables) RemoveWorker(ctx context.Context, id store.WorkerID, now store.Moment) error {
	return t.change(ctx, func(q *queries.Queries) error {
		if err := q.TakeTurn(ctx, "claims"); err != nil {
			return err
		}
		n, err := q.RemoveWorker(ctx, queries.RemoveWorkerParams{Now: now, ID: id})
		if err != nil || n > 0 {
			return err
		}
		w, err := q.Worker(ctx, id)
		if err == nil && w.Removed.IsZero() {
			return store.ErrStale
		}
		return t.some(0, err)
	})
}
