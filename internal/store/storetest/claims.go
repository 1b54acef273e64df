package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
)

func claim(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, w := NewUser(t, s, store.Operator), NewWorker(t, s, "gpu")
	r := Enqueue(t, s, NewRun(t, u.ID, Noon))
	got := Take(t, s, w, r.ID, "rnone")
	if len(got) != 1 || got[0].State != paddock.Starting || got[0].Fence != 1 || got[0].Worker != w.ID || got[0].Claimed != Noon || string(got[0].Envelope) != "signed" {
		t.Fatalf("claimed: %+v", got)
	}
	if again := Take(t, s, NewWorker(t, s), r.ID); len(again) > 0 {
		t.Error("claimed twice")
	}
	h := Holding(w, got[0])
	heads := store.Heads{StdoutBytes: 5, StdoutDigest: "sha256:5", Events: 2}
	wants(t, "start", s.Start(ctx, h, Noon.After(time.Second)), nil)
	wants(t, "start again", s.Start(ctx, h, Noon.After(time.Minute)), nil)
	wants(t, "advance", s.Advance(ctx, h, heads), nil)
	wants(t, "older news", s.Advance(ctx, h, store.Heads{StdoutBytes: 4, Events: 1}), nil)
	wants(t, "negative news", s.Advance(ctx, h, store.Heads{StdoutBytes: -4}), store.ErrInvalid)
	now := must(s.Run(ctx, store.Of(u.ID), r.ID))(t)
	if now.State != paddock.Running || now.Started != Noon.After(time.Second) || now.StdoutBytes != 5 || now.Events != 2 {
		t.Errorf("running: %+v", now)
	}
	heads.StderrBytes, heads.Events = 7, 3
	v := Verdict(paddock.Exited)
	wants(t, "settle", s.Settle(ctx, h, heads, v), nil)
	wants(t, "settle again", s.Settle(ctx, h, heads, v), nil)
	wants(t, "settle otherwise", s.Settle(ctx, h, heads, Verdict(paddock.Killed)), store.ErrOver)
	wants(t, "advance after the end", s.Advance(ctx, h, heads), store.ErrOver)
	wants(t, "start after the end", s.Start(ctx, h, Noon), store.ErrOver)
	now = must(s.Run(ctx, store.Of(u.ID), r.ID))(t)
	if now.State != v.State || string(now.Outcome) != string(v.Outcome) || now.Settled != v.At || now.StderrBytes != 7 {
		t.Errorf("settled: %+v", now)
	}
	_, held, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon))
	if err != nil || len(held) > 0 {
		t.Errorf("still held: %v, %v", held, err)
	}
}

func lines(t *testing.T, s store.Store) {
	ctx := t.Context()
	w := NewWorker(t, s)
	one, two, idle := NewUser(t, s, store.Operator), NewUser(t, s, store.Operator), NewUser(t, s, store.Operator)
	must(s.Turn(ctx, Enqueue(t, s, NewRun(t, idle.ID, Noon)).ID, Verdict(paddock.Killed)))(t)
	busy := NewRun(t, two.ID, Noon)
	busy.Workspace = "w1"
	Take(t, s, w, Enqueue(t, s, busy).ID)
	Enqueue(t, s, NewRun(t, two.ID, Noon))
	var want []paddock.RunID // by priority, then age
	for i, p := range []int64{-1, 5, 0, 5} {
		r := NewRun(t, one.ID, Noon.After(time.Duration(i)*time.Second))
		r.Priority = p
		want = append(want, Enqueue(t, s, r).ID)
	}
	want = []paddock.RunID{want[1], want[3], want[2], want[0]}
	_, err := s.Claim(ctx, w.ID, w.Epoch, Term(Noon), func(ctx context.Context, l store.Line) ([]paddock.RunID, error) {
		same(t, "who asks", l.Worker().ID, w.ID)
		same(t, "held", must(l.Held(ctx))(t), 1)
		shares := map[store.UserID]store.Share{}
		for _, o := range must(l.Owners(ctx))(t) {
			shares[o.Owner] = o
		}
		same(t, "owners", shares, map[store.UserID]store.Share{one.ID: {Owner: one.ID}, two.ID: {Owner: two.ID, Live: 1, LastClaimed: Noon}})
		same(t, "busy", must(l.Busy(ctx))(t), map[store.WorkspaceID]int64{"w1": 1})
		var got []paddock.RunID
		var after *store.Waiter
		for {
			next := must(l.Queued(ctx, one.ID, after, 1))(t)
			if len(next) == 0 {
				break
			}
			after = &next[0]
			got = append(got, after.ID)
		}
		same(t, "queued", got, want)
		return nil, nil
	})
	wants(t, "claim", err, nil)
}

func fences(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, w, other := NewUser(t, s, store.Operator), NewWorker(t, s), NewWorker(t, s)
	r := Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	good := Holding(w, r)
	all := func(what string, h store.Held, want error) {
		t.Helper()
		wants(t, what+": start", s.Start(ctx, h, Noon), want)
		wants(t, what+": advance", s.Advance(ctx, h, store.Heads{}), want)
		wants(t, what+": settle", s.Settle(ctx, h, store.Heads{}, Verdict(paddock.Exited)), want)
	}
	for what, change := range map[string]func(*store.Held){
		"an older fence":   func(h *store.Held) { h.Fence-- },
		"a newer fence":    func(h *store.Held) { h.Fence++ },
		"another worker":   func(h *store.Held) { h.Worker, h.Epoch = other.ID, other.Epoch },
		"an unknown epoch": func(h *store.Held) { h.Epoch++ },
		"another run":      func(h *store.Held) { h.Run = "rnone" },
	} {
		h := good
		change(&h)
		all(what, h, store.ErrFenced)
	}
	again := must(s.Enlist(ctx, w.ID, nil, 3, "v2", Noon))(t)
	if again.Epoch != w.Epoch+1 || again.Beat <= w.Beat || again.Capacity != 3 || again.Version != "v2" {
		t.Errorf("enlisted again: %+v", again)
	}
	all("an epoch that is over", good, store.ErrFenced)
	_, _, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon))
	wants(t, "renewing in it", err, store.ErrFenced)
	_, err = s.Claim(ctx, w.ID, w.Epoch, Term(Noon), nil)
	wants(t, "claiming in it", err, store.ErrFenced)
	all("the new epoch", Holding(again, r), nil)
}

func silence(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, w := NewUser(t, s, store.Operator), NewWorker(t, s)
	if beats := must(s.Beats(ctx))(t); len(beats) > 0 {
		t.Errorf("a worker without runs is watched: %v", beats)
	}
	started := Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	starting := Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	wants(t, "start", s.Start(ctx, Holding(w, started), Noon), nil)
	state := func(r store.Run) paddock.State { return must(s.Run(ctx, store.Everyone(), r.ID))(t).State }
	seen := must(s.Beats(ctx))(t)
	same(t, "beats", seen, []store.Beat{{Worker: w.ID, Epoch: w.Epoch, Beat: w.Beat, Live: 2}})
	if n := must(s.Miss(ctx, seen[0]))(t); n != 2 {
		t.Errorf("%d runs are unreachable", n)
	}
	same(t, "missed", state(started), paddock.Unreachable)
	same(t, "missed beats", must(s.Beats(ctx))(t)[0].Unreachable, 2)

	// It comes back: its runs are what they were.
	now, held, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon.After(time.Second)))
	if err != nil || len(held) != 2 || now.LastSeen != Noon.After(time.Second) || now.LeaseUntil != Noon.After(11*time.Second) {
		t.Errorf("renewed: %+v, %v, %v", now, held, err)
	}
	same(t, "reached", state(started), paddock.Running)
	same(t, "reached", state(starting), paddock.Starting)
	_, err = s.Miss(ctx, seen[0])
	wants(t, "an old beat", err, store.ErrStale)
	_, err = s.Lose(ctx, seen[0], Verdict(paddock.Lost))
	wants(t, "an old beat", err, store.ErrStale)

	seen = must(s.Beats(ctx))(t)
	_, err = s.Lose(ctx, seen[0], store.Verdict{})
	wants(t, "without a verdict", err, store.ErrInvalid)
	if lost := must(s.Lose(ctx, seen[0], Verdict(paddock.Lost)))(t); len(lost) != 2 {
		t.Errorf("lost: %v", lost)
	}
	same(t, "lost", state(started), paddock.Lost)
	wants(t, "who comes back too late", s.Settle(ctx, Holding(w, started), store.Heads{}, Verdict(paddock.Exited)), store.ErrFenced)
	if _, held, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon)); err != nil || len(held) > 0 {
		t.Errorf("it still holds %v, %v", held, err)
	}
}

// Who takes over has the runs of all others, and writes how they ended; they don't.
func takeover(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, old, heir := NewUser(t, s, store.Operator), NewWorker(t, s), NewWorker(t, s)
	over := Take(t, s, old, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	wants(t, "settle", s.Settle(ctx, Holding(old, over), store.Heads{}, Verdict(paddock.Exited)), nil)
	theirs := Take(t, s, old, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	wants(t, "start", s.Start(ctx, Holding(old, theirs), Noon), nil)
	own := Take(t, s, heir, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	Enqueue(t, s, NewRun(t, u.ID, Noon))
	if n, err := s.TakeOver(ctx, heir.ID); err != nil || n != 1 {
		t.Errorf("%d were taken over, %v", n, err)
	}
	if n, err := s.TakeOver(ctx, heir.ID); err != nil || n != 0 {
		t.Errorf("%d were taken over again, %v", n, err)
	}
	held := must(s.Holds(ctx, heir.ID, heir.Epoch))(t)
	if len(held) != 2 || held[0].ID != theirs.ID && held[1].ID != theirs.ID || held[0].ID != own.ID && held[1].ID != own.ID {
		t.Errorf("the heir has %v", held)
	}
	wants(t, "who had it", s.Settle(ctx, Holding(old, theirs), store.Heads{}, Verdict(paddock.Exited)), store.ErrFenced)
	wants(t, "who has it", s.Settle(ctx, Holding(heir, theirs), store.Heads{}, Verdict(paddock.Exited)), nil)
	wants(t, "removing who had it", s.RemoveWorker(ctx, old.ID, Noon), nil)
	for _, none := range []store.WorkerID{"knone", old.ID, "k\x00"} {
		_, err := s.TakeOver(ctx, none)
		wants(t, "taking over as "+string(none), err, store.ErrNotFound)
	}
	same(t, "what was over", must(s.Run(ctx, store.Everyone(), over.ID))(t).Worker, old.ID)
}

func workers(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, w := NewUser(t, s, store.Operator), NewWorker(t, s, "gpu", "big")
	same(t, "by id", must(s.Worker(ctx, w.ID))(t), w)
	same(t, "by credential", must(s.WorkerByCredential(ctx, w.Credential))(t), w)
	_, err := s.WorkerByCredential(ctx, Secret())
	wants(t, "another credential", err, store.ErrNotFound)
	wants(t, "no such worker", s.SetWorkerMode(ctx, "knone", store.Open), store.ErrNotFound)
	wants(t, "cordon", s.SetWorkerMode(ctx, w.ID, store.Cordoned), nil)
	now, _, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon))
	if err != nil || now.Mode != store.Cordoned {
		t.Errorf("it is told %v, %v", now, err)
	}
	r := Take(t, s, w, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID)[0]
	wants(t, "removing a busy one", s.RemoveWorker(ctx, w.ID, Noon), store.ErrStale)
	wants(t, "settle", s.Settle(ctx, Holding(w, r), store.Heads{}, Verdict(paddock.Exited)), nil)
	wants(t, "removing it", s.RemoveWorker(ctx, w.ID, Noon), nil)
	wants(t, "removing it again", s.RemoveWorker(ctx, w.ID, Noon), store.ErrNotFound)
	_, err = s.WorkerByCredential(ctx, w.Credential)
	wants(t, "its credential", err, store.ErrNotFound)
	_, err = s.Enlist(ctx, w.ID, nil, 1, "", Noon)
	wants(t, "enlisting it", err, store.ErrNotFound)
	for what, try := range map[string]func() error{ // of its process, which goes on
		"its beat":      func() error { _, _, err := s.Renew(ctx, w.ID, w.Epoch, Term(Noon)); return err },
		"what it has":   func() error { _, err := s.Holds(ctx, w.ID, w.Epoch); return err },
		"what it takes": func() error { _, err := s.Claim(ctx, w.ID, w.Epoch, Term(Noon), nil); return err },
	} {
		wants(t, what, try(), store.ErrFenced)
	}
	if p := must(s.Workers(ctx, store.Cursor{}, 5))(t); len(p.Items) > 0 {
		t.Errorf("listed: %v", p.Items)
	}
}

// oneClaim has many workers claim at once: each run is given once, and within a
// claim nobody else's is seen half.
func oneClaim(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	const runs, rivals = 24, 4
	for range runs {
		Enqueue(t, s, NewRun(t, u.ID, Noon))
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	got := map[paddock.RunID]int{}
	for range rivals {
		w := NewWorker(t, s)
		group.Go(func() {
			for {
				claimed, err := s.Claim(ctx, w.ID, w.Epoch, Term(Noon), func(ctx context.Context, l store.Line) ([]paddock.RunID, error) {
					next, err := l.Queued(ctx, u.ID, nil, 3)
					var ids []paddock.RunID
					for _, n := range next {
						ids = append(ids, n.ID)
					}
					return ids, err
				})
				if err != nil {
					t.Error(err)
				}
				if len(claimed) == 0 {
					return
				}
				mu.Lock()
				for _, r := range claimed {
					got[r.ID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(got) != runs {
		t.Errorf("%d of %d runs were claimed", len(got), runs)
	}
	for id, n := range got {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
}

// claimsTakeTurns sees that nobody chooses while somebody does, so that what is
// counted then still holds when the runs are his.
func claimsTakeTurns(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, one, two := NewUser(t, s, store.Operator), NewWorker(t, s), NewWorker(t, s)
	r := Enqueue(t, s, NewRun(t, u.ID, Noon))
	got, err := s.Claim(ctx, one.ID, one.Epoch, Term(Noon), func(context.Context, store.Line) ([]paddock.RunID, error) {
		soon, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		defer stop()
		_, err := s.Claim(soon, two.ID, two.Epoch, Term(Noon), func(context.Context, store.Line) ([]paddock.RunID, error) {
			t.Error("two choose at once")
			return nil, nil
		})
		if err == nil {
			t.Error("somebody else's turn came and went")
		}
		return []paddock.RunID{r.ID}, nil
	})
	if err != nil || len(got) != 1 {
		t.Errorf("claimed: %v, %v", got, err)
	}
	// And then it is the other's turn.
	if got := Take(t, s, two, Enqueue(t, s, NewRun(t, u.ID, Noon)).ID); len(got) != 1 {
		t.Errorf("claimed next: %v", got)
	}
}

func approvals(t *testing.T, s store.Store) {
	ctx := t.Context()
	u, other := NewUser(t, s, store.Operator), NewUser(t, s, store.Approver)
	a := store.Approval{ID: "a00-1", Run: "r1", Owner: u.ID, Ask: store.Blob("may I?"), Created: Noon, Expires: Noon.After(time.Hour), State: paddock.ApprovalWaiting}
	wants(t, "ask", s.Ask(ctx, a), nil)
	wants(t, "ask again", s.Ask(ctx, a), store.ErrExists)
	v := store.Vote{Approval: a.ID, Key: "key", Approve: true, Envelope: store.Blob("signed"), Created: Noon}
	wants(t, "vote", s.AddVote(ctx, v), nil)
	wants(t, "vote again", s.AddVote(ctx, v), store.ErrExists)
	late := v
	late.Key, late.Created = "other", a.Expires
	wants(t, "vote too late", s.AddVote(ctx, late), store.ErrOver)
	late.Approval = "a00-2"
	wants(t, "vote on none", s.AddVote(ctx, late), store.ErrNotFound)
	got, votes, err := s.Approval(ctx, store.Of(u.ID), a.ID)
	wants(t, "reading it", err, nil)
	same(t, "the approval", got, a)
	same(t, "its votes", votes, []store.Vote{v})
	_, _, err = s.Approval(ctx, store.Of(other.ID), a.ID)
	wants(t, "another's", err, store.ErrNotFound)
	for _, tc := range []struct {
		scope store.Scope
		state paddock.ApprovalState
		n     int
	}{{store.Everyone(), "", 1}, {store.Everyone(), paddock.ApprovalWaiting, 1}, {store.Everyone(), paddock.ApprovalUsed, 0}, {store.Of(other.ID), "", 0}, {store.Of(u.ID), "", 1}} {
		if p := must(s.Approvals(ctx, tc.scope, tc.state, store.Cursor{}, 5))(t); len(p.Items) != tc.n {
			t.Errorf("%v %s: %v", tc.scope, tc.state, p.Items)
		}
	}
	wants(t, "close", s.CloseApproval(ctx, a.ID, paddock.ApprovalApproved, Noon), nil)
	wants(t, "close again", s.CloseApproval(ctx, a.ID, paddock.ApprovalDeclined, Noon), store.ErrOver)
	late.Approval, late.Created = a.ID, Noon
	wants(t, "vote on a closed one", s.AddVote(ctx, late), store.ErrOver)
}
