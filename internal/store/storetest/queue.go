package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
)

func enqueue(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	r := NewRun(t, u.ID, Noon)
	r.Key, r.Needs, r.Priority, r.Workspace = "once", store.Words{"gpu"}, 3, "w1"
	const nonce = "0123456789abcdef"
	kept, again, err := s.Enqueue(ctx, r, nonce)
	if err != nil || again {
		t.Fatal(again, err)
	}
	want := r
	want.Revision = 1
	same(t, "enqueued", kept, want)
	same(t, "read", must(s.Run(ctx, store.Of(u.ID), r.ID))(t), want)
	_, err = s.Run(ctx, store.Of(other.ID), r.ID)
	wants(t, "another's", err, store.ErrNotFound)
	_, err = s.Run(ctx, store.Scope{}, r.ID)
	wants(t, "nobody's", err, store.ErrNotFound)
	_, err = s.Run(ctx, store.Everyone(), "r\x00")
	wants(t, "a hostile id", err, store.ErrNotFound)

	twin := NewRun(t, u.ID, Noon)
	twin.Key = r.Key
	kept, again, err = s.Enqueue(ctx, twin, "another nonce is there")
	if err != nil || !again {
		t.Fatal(again, err)
	}
	same(t, "the same key", kept, want)
	twin.Request = "sha256:2"
	_, _, err = s.Enqueue(ctx, twin, "a third nonce is there")
	wants(t, "the same key for another request", err, store.ErrConflict)
	theirs := NewRun(t, other.ID, Noon)
	theirs.Key = r.Key
	Enqueue(t, s, theirs) // a key is its owner's

	_, _, err = s.Enqueue(ctx, NewRun(t, u.ID, Noon), nonce)
	wants(t, "the same nonce", err, store.ErrReplayed)
	_, _, err = s.Enqueue(ctx, r, "short")
	wants(t, "a short nonce", err, store.ErrInvalid)
	bad := NewRun(t, u.ID, Noon)
	bad.State = paddock.Running
	_, _, err = s.Enqueue(ctx, bad, "0123456789abcdefg")
	wants(t, "a run that runs already", err, store.ErrInvalid)

	var group sync.WaitGroup
	ids := make([]paddock.RunID, 8)
	for i := range ids {
		group.Go(func() {
			r := NewRun(t, u.ID, Noon)
			r.Key = "race"
			kept, _, err := s.Enqueue(ctx, r, fmt.Sprintf("the nonce of racer %d", i))
			if err != nil {
				t.Error(err)
			}
			ids[i] = kept.ID
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("one key gave the runs %v", ids)
			break
		}
	}
}

func filters(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	there, waiting := NewRun(t, u.ID, Noon), NewRun(t, u.ID, Noon.After(time.Second))
	there.Workspace, waiting.State = "w1", paddock.Waiting
	Enqueue(t, s, there)
	Enqueue(t, s, waiting)
	theirs := Enqueue(t, s, NewRun(t, other.ID, Noon.After(time.Minute)))
	all := []paddock.RunID{theirs.ID, waiting.ID, there.ID}
	for _, tc := range []struct {
		s    store.Scope
		f    store.RunFilter
		want []paddock.RunID
	}{
		{store.Everyone(), store.RunFilter{}, all},
		{store.Of(u.ID), store.RunFilter{}, all[1:]},
		{store.Everyone(), store.RunFilter{State: paddock.Queued}, []paddock.RunID{theirs.ID, there.ID}},
		{store.Of(u.ID), store.RunFilter{State: paddock.Queued}, []paddock.RunID{there.ID}},
		{store.Of(u.ID), store.RunFilter{Workspace: "w1"}, []paddock.RunID{there.ID}},
		{store.Everyone(), store.RunFilter{Workspace: "w1", State: paddock.Queued}, []paddock.RunID{there.ID}},
		{store.Everyone(), store.RunFilter{Workspace: "w1", State: paddock.Waiting}, []paddock.RunID{}},
		{store.Of(other.ID), store.RunFilter{Workspace: "w1"}, []paddock.RunID{}},
		{store.Scope{}, store.RunFilter{}, []paddock.RunID{}},
	} {
		got := []paddock.RunID{}
		for _, r := range must(s.Runs(ctx, tc.s, tc.f, store.Cursor{}, 10))(t).Items {
			got = append(got, r.ID)
		}
		same(t, fmt.Sprint(tc.s, tc.f), got, tc.want)
	}
}

func cancel(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	w := NewWorker(t, s)
	end := Verdict(paddock.Killed)
	queued := Enqueue(t, s, NewRun(t, u.ID, Noon))
	_, err := s.Cancel(ctx, store.Of(other.ID), queued.ID, "other", "", end)
	wants(t, "another's", err, store.ErrNotFound)
	_, err = s.Cancel(ctx, store.Of(u.ID), queued.ID, "me", "a\x00", end)
	wants(t, "a hostile reason", err, store.ErrInvalid)
	_, err = s.Cancel(ctx, store.Of(u.ID), queued.ID, "me", "", store.Verdict{State: paddock.Running})
	wants(t, "no verdict", err, store.ErrInvalid)
	got := must(s.Cancel(ctx, store.Of(u.ID), queued.ID, "me", "enough", end))(t)
	if got.State != paddock.Killed || got.Settled != end.At || got.CancelWhy != "enough" || got.Claimed != (store.Moment{}) {
		t.Errorf("of a queued run: %+v", got)
	}
	if runs := Take(t, s, w, queued.ID); len(runs) > 0 {
		t.Error("a canceled run was claimed")
	}
	same(t, "again", must(s.Cancel(ctx, store.Of(u.ID), queued.ID, "you", "more", end))(t), got)

	claimed := Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	got = must(s.Cancel(ctx, store.Everyone(), claimed.ID, "admin", "late", end))(t)
	if got.State != paddock.Starting || got.CancelBy != "admin" || got.Cancel != end.At {
		t.Errorf("of a claimed run: %+v", got)
	}
	_, held, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon))
	if err != nil || len(held) != 1 || held[0].CancelWhy != "late" {
		t.Errorf("the worker is told %+v, %v", held, err)
	}
	again := must(s.Cancel(ctx, store.Everyone(), claimed.ID, "other", "later", end))(t)
	same(t, "the first asks", again.CancelBy, "admin")
}

func admitAndTurn(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	r := NewRun(t, u.ID, Noon)
	r.State, r.Envelope = paddock.Waiting, nil
	r = Enqueue(t, s, r)
	w := NewWorker(t, s)
	if got := Take(t, s, w, r.ID); len(got) > 0 {
		t.Error("a run that waits was claimed")
	}
	_, err := s.Admit(ctx, r.ID, nil)
	wants(t, "without an envelope", err, store.ErrInvalid)
	got := must(s.Admit(ctx, r.ID, []byte("signed now")))(t)
	if got.State != paddock.Queued || string(got.Envelope) != "signed now" {
		t.Errorf("admitted: %+v", got)
	}
	_, err = s.Admit(ctx, r.ID, []byte("again"))
	wants(t, "a second time", err, store.ErrOver)
	_, err = s.Admit(ctx, "rnone", []byte("x"))
	wants(t, "none", err, store.ErrNotFound)
	v := Verdict(paddock.RefusedState)
	got = must(s.Turn(ctx, r.ID, v))(t)
	if got.State != v.State || string(got.Outcome) != string(v.Outcome) || got.Settled != v.At {
		t.Errorf("turned: %+v", got)
	}
	_, err = s.Turn(ctx, r.ID, v)
	wants(t, "turned again", err, store.ErrOver)
}

func keeping(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	r := Enqueue(t, s, NewRun(t, u.ID, Noon))
	day := func(n int) store.Moment { return Noon.After(time.Duration(n) * 24 * time.Hour) }
	prunable := func(at store.Moment) int { return len(must(s.Prunable(ctx, at, at, 10))(t)) }
	if prunable(day(9)) != 0 {
		t.Error("a queued run could be pruned")
	}
	must(s.Turn(ctx, r.ID, Verdict(paddock.Killed)))(t)
	wants(t, "keeping another's", s.KeepRun(ctx, store.Of(other.ID), r.ID, day(5)), store.ErrNotFound)
	wants(t, "keeping it", s.KeepRun(ctx, store.Of(u.ID), r.ID, day(5)), nil)
	wants(t, "pruning what is kept", s.PrunedRun(ctx, r.ID, day(4)), store.ErrNotFound)
	if prunable(day(4)) != 0 || prunable(day(5)) != 1 || prunable(Noon) != 0 {
		t.Error("kept for another time")
	}
	wants(t, "pruned", s.PrunedRun(ctx, r.ID, day(5)), nil)
	wants(t, "pruned again", s.PrunedRun(ctx, r.ID, day(5)), store.ErrNotFound)
	wants(t, "kept too late", s.KeepRun(ctx, store.Of(u.ID), r.ID, day(9)), store.ErrNotFound)
}

func counts(t *testing.T, s store.Store) {
	u, w := NewUser(t, s, store.Operator), NewWorker(t, s)
	for range 3 {
		Enqueue(t, s, NewRun(t, u.ID, Noon))
	}
	Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)
	same(t, "counts", must(s.CountRuns(t.Context()))(t), map[paddock.State]int64{paddock.Queued: 3, paddock.Starting: 1})
}
