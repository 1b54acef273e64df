package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
)

// What is queued by who carries out is claimed with it, or nothing happened.
func offers(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, w := NewUser(t, s, store.Operator), NewWorker(t, s)
	all := func(ctx context.Context, l store.Line) (ids []paddock.RunID, err error) {
		waiters, err := l.Queued(ctx, u.ID, nil, 10)
		for _, r := range waiters {
			ids = append(ids, r.ID)
		}
		return ids, err
	}
	nothing := errors.New("no")
	offer := func(r store.Run, nonce string, epoch int64, chosen func([]store.Run) error) (store.Run, bool, []store.Run, error) {
		return s.Offer(ctx, r, nonce, w.ID, epoch, Term(Noon), all, chosen)
	}
	fine := func([]store.Run) error { return nil }
	waits := func(want bool) {
		t.Helper()
		if got, err := s.Waits(ctx); err != nil || got != want {
			t.Errorf("something is queued: %v, %v", got, err)
		}
	}
	waits(false)
	older := Enqueue(t, s, NewRun(t, u.ID, Noon))
	waits(true)
	r, nonce := NewRun(t, u.ID, Noon.After(time.Second)), rand.Text()
	r.Key = "key"
	_, _, _, err := offer(r, nonce, w.Epoch, func([]store.Run) error { return nothing })
	if err == nil {
		t.Error("what was chosen in vain counts")
	}
	_, _, _, err = offer(r, nonce, w.Epoch+1, fine)
	wants(t, "another epoch", err, store.ErrFenced)
	_, err = s.Run(ctx, store.Everyone(), r.ID)
	wants(t, "what was undone", err, store.ErrNotFound)

	var told []store.Run
	kept, again, got, err := offer(r, nonce, w.Epoch, func(g []store.Run) error { told = slices.Clone(g); return nil })
	if err != nil || again || kept.ID != r.ID || len(got) != 2 || len(told) != 2 || got[0].ID != older.ID || got[1].State != paddock.Starting || got[1].Fence != 1 || string(got[1].Envelope) != "signed" {
		t.Fatalf("offered: %+v, %v, %+v, %v", kept, again, got, err)
	}
	waits(false)
	held := must(s.Holds(ctx, w.ID, w.Epoch))(t)
	if len(held) != 2 {
		t.Errorf("it has %+v", held)
	}
	_, err = s.Holds(ctx, w.ID, w.Epoch-1)
	wants(t, "what an older epoch has", err, store.ErrFenced)

	same := NewRun(t, u.ID, Noon.After(time.Minute))
	same.Key = "key"
	if kept, again, got, err = offer(same, rand.Text(), w.Epoch, fine); err != nil || !again || kept.ID != r.ID || len(got) > 0 {
		t.Errorf("again: %+v, %v, %+v, %v", kept, again, got, err)
	}
	same.Request = "sha256:2"
	_, _, _, err = offer(same, rand.Text(), w.Epoch, fine)
	wants(t, "the key for something else", err, store.ErrConflict)
	_, _, _, err = offer(NewRun(t, u.ID, Noon), nonce, w.Epoch, fine)
	wants(t, "the nonce again", err, store.ErrReplayed)
	_, _, _, err = offer(store.Run{}, "x", w.Epoch, fine)
	wants(t, "no run", err, store.ErrInvalid)

	v := Verdict(paddock.Exited)
	v.Started = Noon.After(time.Second)
	wants(t, "settle what never started", s.Settle(ctx, Holding(w, oneOf(held, r.ID)), store.Heads{}, v), nil)
	if is := must(s.Run(ctx, store.Everyone(), r.ID))(t); is.Started != v.Started || is.State != paddock.Exited || len(is.Envelope) > 0 {
		t.Errorf("it is %+v", is)
	}
}

func oneOf(runs []store.Run, id paddock.RunID) store.Run {
	return runs[slices.IndexFunc(runs, func(r store.Run) bool { return r.ID == id })]
}
