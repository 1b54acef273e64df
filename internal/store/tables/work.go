package tables

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/tables/form"
	"paddock/internal/store/tables/queries"
)

func workspace(r queries.Workspace) store.Workspace { return store.Workspace(r) }

// AddWorkspace adds w.
func (t *Tables) AddWorkspace(ctx context.Context, w store.Workspace) error {
	if err := form.Workspace(w); err != nil {
		return err
	}
	return t.say(t.does.AddWorkspace(ctx, queries.AddWorkspaceParams(w)))
}

// Workspace is the one with the id.
func (t *Tables) Workspace(ctx context.Context, s store.Scope, id store.WorkspaceID) (store.Workspace, error) {
	if err := readable(id); err != nil {
		return store.Workspace{}, err
	}
	r, err := t.asks.Workspace(ctx, queries.WorkspaceParams{ID: id, Owner: s.Owner, Everyone: s.All})
	return workspace(r), t.say(err)
}

// WorkspaceNamed is the owner's of that name.
func (t *Tables) WorkspaceNamed(ctx context.Context, owner store.UserID, name string) (store.Workspace, error) {
	if err := readable(name); err != nil {
		return store.Workspace{}, err
	}
	r, err := t.asks.WorkspaceNamed(ctx, queries.WorkspaceNamedParams{Owner: owner, Name: name})
	return workspace(r), t.say(err)
}

// Workspaces lists them, also those that are archived.
func (t *Tables) Workspaces(ctx context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Workspace], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.Workspace]{}, err
	}
	rows, err := t.asks.Workspaces(ctx, queries.WorkspacesParams{Owner: s.Owner, Everyone: s.All, Created: a.created, ID: store.WorkspaceID(a.id), Most: a.most})
	return page(t, a, rows, err, workspace, func(w store.Workspace) store.Cursor {
		return store.Cursor{Created: w.Created, ID: string(w.ID)}
	})
}

// ArchiveWorkspace archives one.
func (t *Tables) ArchiveWorkspace(ctx context.Context, s store.Scope, id store.WorkspaceID, now store.Moment) error {
	return t.some(t.does.ArchiveWorkspace(ctx, queries.ArchiveWorkspaceParams{Now: now, ID: id, Owner: s.Owner, Everyone: s.All}))
}

// run is a row as it is kept: one that has begun or is over has no envelope any more, also
// where a trigger removed that after it was returned.
func run(r queries.Run) store.Run {
	if !r.Started.IsZero() || !r.Settled.IsZero() {
		r.Envelope = nil
	}
	return store.Run(r)
}

func runAt(r store.Run) store.Cursor { return store.Cursor{Created: r.Created, ID: string(r.ID)} }

// Enqueue adds r, once for a key.
func (t *Tables) Enqueue(ctx context.Context, r store.Run, nonce string) (kept store.Run, again bool, err error) {
	if err := errors.Join(form.Run(r), form.Nonce(nonce)); err != nil {
		return store.Run{}, false, err
	}
	err = t.change(ctx, func(q *queries.Queries) (err error) {
		kept, again, err = t.add(ctx, q, r, nonce)
		return err
	})
	if err != nil {
		return store.Run{}, false, err
	}
	return kept, again, nil
}

// add adds r within a transaction.
func (t *Tables) add(ctx context.Context, q *queries.Queries, r store.Run, nonce string) (kept store.Run, again bool, err error) {
	n, err := q.AddRun(ctx, queries.AddRunParams{
		ID: r.ID, Owner: r.Owner, Principal: r.Principal, Workspace: r.Workspace, State: r.State, Priority: r.Priority, Needs: r.Needs,
		Label: r.Label, Envelope: r.Envelope, RetryOf: r.RetryOf, Key: r.Key, Request: r.Request, Created: r.Created,
	})
	if err != nil {
		return store.Run{}, false, err
	}
	if n == 0 {
		was, err := q.RunByKey(ctx, queries.RunByKeyParams{Owner: r.Owner, Key: r.Key})
		if err == nil && was.Request != r.Request {
			err = store.ErrConflict
		}
		return run(was), true, err
	}
	if n, err = q.UseNonce(ctx, queries.UseNonceParams{Nonce: nonce, Run: r.ID, Now: r.Created}); err != nil {
		return store.Run{}, false, err
	}
	if n == 0 {
		return store.Run{}, false, store.ErrReplayed
	}
	was, err := q.Run(ctx, queries.RunParams{ID: r.ID, Owner: r.Owner})
	return run(was), false, err
}

// Run is the one with the id.
func (t *Tables) Run(ctx context.Context, s store.Scope, id paddock.RunID) (store.Run, error) {
	if err := readable(id); err != nil {
		return store.Run{}, err
	}
	r, err := t.asks.Run(ctx, queries.RunParams{ID: id, Owner: s.Owner, Everyone: s.All})
	return run(r), t.say(err)
}

// Runs lists them.
func (t *Tables) Runs(ctx context.Context, s store.Scope, f store.RunFilter, after store.Cursor, most int) (store.Page[store.Run], error) {
	a, err := ask(after, most)
	if err == nil {
		err = errors.Join(readable(f.State), readable(f.Workspace))
	}
	if err != nil {
		return store.Page[store.Run]{}, err
	}
	id := paddock.RunID(a.id)
	var rows []queries.Run
	switch {
	case f.Workspace != "":
		rows, err = t.asks.RunsAt(ctx, queries.RunsAtParams{Workspace: f.Workspace, Owner: s.Owner, Everyone: s.All, State: f.State, AnyState: f.State == "", Created: a.created, ID: id, Most: a.most})
	case s.All && f.State != "":
		rows, err = t.asks.RunsIn(ctx, queries.RunsInParams{State: f.State, Created: a.created, ID: id, Most: a.most})
	case s.All:
		rows, err = t.asks.Runs(ctx, queries.RunsParams{Created: a.created, ID: id, Most: a.most})
	case f.State != "":
		rows, err = t.asks.RunsOfIn(ctx, queries.RunsOfInParams{Owner: s.Owner, State: f.State, Created: a.created, ID: id, Most: a.most})
	default:
		rows, err = t.asks.RunsOf(ctx, queries.RunsOfParams{Owner: s.Owner, Created: a.created, ID: id, Most: a.most})
	}
	return page(t, a, rows, err, run, runAt)
}

// Admit moves one from waiting to queued.
func (t *Tables) Admit(ctx context.Context, id paddock.RunID, envelope []byte) (store.Run, error) {
	if len(envelope) == 0 || len(envelope) > store.MostEnvelope {
		return store.Run{}, store.ErrInvalid
	}
	return t.before(ctx, id, func(q *queries.Queries) (queries.Run, error) {
		return q.AdmitRun(ctx, queries.AdmitRunParams{Envelope: envelope, ID: id})
	})
}

// Turn settles one that nobody has claimed.
func (t *Tables) Turn(ctx context.Context, id paddock.RunID, v store.Verdict) (store.Run, error) {
	if err := form.Verdict(v); err != nil {
		return store.Run{}, err
	}
	return t.before(ctx, id, func(q *queries.Queries) (queries.Run, error) {
		return q.TurnRun(ctx, queries.TurnRunParams{State: v.State, Outcome: v.Outcome, Now: v.At, ID: id})
	})
}

// before does what can be done of a run before something else happened to it.
func (t *Tables) before(ctx context.Context, id paddock.RunID, do func(*queries.Queries) (queries.Run, error)) (store.Run, error) {
	var kept queries.Run
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		kept, err = do(q)
		if errors.Is(t.say(err), store.ErrNotFound) {
			if _, err := q.Run(ctx, queries.RunParams{ID: id, Everyone: true}); err != nil {
				return err
			}
			return store.ErrOver
		}
		return err
	})
	if err != nil {
		return store.Run{}, err
	}
	return run(kept), nil
}

// Cancel asks for the end of one. That it has ended, or that somebody asked before,
// is no error: what is kept is returned.
func (t *Tables) Cancel(ctx context.Context, s store.Scope, id paddock.RunID, by, why string, v store.Verdict) (store.Run, error) {
	if err := errors.Join(form.Verdict(v), form.Words(by, why)); err != nil {
		return store.Run{}, err
	}
	var kept queries.Run
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		kept, err = q.CancelUnclaimed(ctx, queries.CancelUnclaimedParams{State: v.State, Outcome: v.Outcome, Now: v.At, By: by, Why: why, ID: id, Owner: s.Owner, Everyone: s.All})
		if !errors.Is(t.say(err), store.ErrNotFound) {
			return err
		}
		kept, err = q.CancelClaimed(ctx, queries.CancelClaimedParams{Now: v.At, By: by, Why: why, ID: id, Owner: s.Owner, Everyone: s.All})
		if !errors.Is(t.say(err), store.ErrNotFound) {
			return err
		}
		kept, err = q.Run(ctx, queries.RunParams{ID: id, Owner: s.Owner, Everyone: s.All})
		return err
	})
	if err != nil {
		return store.Run{}, err
	}
	return run(kept), nil
}

// KeepRun protects its output.
func (t *Tables) KeepRun(ctx context.Context, s store.Scope, id paddock.RunID, until store.Moment) error {
	return t.some(t.does.KeepRun(ctx, queries.KeepRunParams{Until: until, ID: id, Owner: s.Owner, Everyone: s.All}))
}

// Prunable are those whose output may go, oldest first.
func (t *Tables) Prunable(ctx context.Context, before, now store.Moment, most int) ([]paddock.RunID, error) {
	ids, err := t.asks.PrunableRuns(ctx, queries.PrunableRunsParams{Before: before, Now: now, Most: int32(min(max(most, 0), store.MostPage))})
	return ids, t.say(err)
}

// PrunedRun notes that its output is gone, and forgets what was copied of it.
func (t *Tables) PrunedRun(ctx context.Context, id paddock.RunID, now store.Moment) error {
	var n int64
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		if n, err = q.PrunedRun(ctx, queries.PrunedRunParams{Now: now, ID: id}); err != nil {
			return err
		}
		return q.DropCopy(ctx, id) // also of what was pruned before: it may be gone as a whole
	})
	return t.some(n, err)
}

// CountRuns counts those that aren't settled.
func (t *Tables) CountRuns(ctx context.Context) (map[paddock.State]int64, error) {
	rows, err := t.asks.CountRuns(ctx)
	counts := map[paddock.State]int64{}
	for _, r := range rows {
		counts[r.State] = r.Runs
	}
	return counts, t.say(err)
}
