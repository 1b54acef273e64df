package storetest

import (
	"bytes"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
)

func copies(t *testing.T, s store.Store) {
	ctx := t.Context()
	u := NewUser(t, s, store.Operator)
	var ids []paddock.RunID
	for i := range 3 {
		ids = append(ids, Enqueue(t, s, NewRun(t, u.ID, Noon.After(time.Duration(i)*time.Second))).ID)
	}
	a, b := store.Copy{Run: ids[0], Stamp: 1, Record: []byte("first")}, store.Copy{Run: ids[1], Stamp: 1 << 62, Record: []byte("\x00\xff")}
	get := func(ids ...paddock.RunID) map[paddock.RunID]store.Copy {
		t.Helper()
		got := map[paddock.RunID]store.Copy{}
		for _, c := range must(s.Copies(ctx, ids))(t) {
			got[c.Run] = c
		}
		return got
	}
	same(t, "none", get(ids...), map[paddock.RunID]store.Copy{})
	same(t, "of none", get(), map[paddock.RunID]store.Copy{})
	wants(t, "two", s.PutCopies(ctx, []store.Copy{a, b}), nil)
	same(t, "both, and none of the third", get(ids...), map[paddock.RunID]store.Copy{a.Run: a, b.Run: b})
	same(t, "one", get(b.Run), map[paddock.RunID]store.Copy{b.Run: b})
	a.Stamp, a.Record = 2, []byte("second")
	wants(t, "again", s.PutCopies(ctx, []store.Copy{a}), nil)
	same(t, "in its place", get(ids...), map[paddock.RunID]store.Copy{a.Run: a, b.Run: b})
	for what, bad := range map[string]store.Copy{
		"no run": {Stamp: 1, Record: a.Record}, "a run that is none": {Run: "r'\x00\xff", Stamp: 1, Record: a.Record}, "no time": {Run: a.Run, Record: a.Record},
		"nothing": {Run: a.Run, Stamp: 1}, "too much": {Run: a.Run, Stamp: 1, Record: bytes.Repeat([]byte("x"), store.MostRecord+1)},
	} {
		wants(t, what, s.PutCopies(ctx, []store.Copy{b, bad}), store.ErrInvalid)
	}
	_, err := s.Copies(ctx, []paddock.RunID{a.Run, "' OR 1=1 --"})
	wants(t, "no id", err, store.ErrInvalid)
	_, err = s.Copies(ctx, make([]paddock.RunID, store.MostPage+1))
	wants(t, "too many", err, store.ErrInvalid)
	same(t, "as before", get(ids...), map[paddock.RunID]store.Copy{a.Run: a, b.Run: b})
	must(s.Turn(ctx, a.Run, Verdict(paddock.Killed)))(t)
	wants(t, "pruned", s.PrunedRun(ctx, a.Run, Noon.After(time.Hour)), nil)
	same(t, "not of what was pruned", get(ids...), map[paddock.RunID]store.Copy{b.Run: b})
	wants(t, "copied once more", s.PutCopies(ctx, []store.Copy{a}), nil)
	wants(t, "pruned again", s.PrunedRun(ctx, a.Run, Noon.After(time.Hour)), store.ErrNotFound)
	same(t, "of what was pruned before", get(ids...), map[paddock.RunID]store.Copy{b.Run: b})
}

func latest(t *testing.T, s store.Store) {
	var want []paddock.RunID // newest first, the last of each of three owners
	for i := range 3 {
		u := NewUser(t, s, store.Operator)
		for n := range 4 {
			id := Enqueue(t, s, NewRun(t, u.ID, Noon.After(time.Duration(10*i+n)*time.Second))).ID
			if n == 3 {
				want = append([]paddock.RunID{id}, want...)
			}
		}
	}
	for most := 1; most <= 4; most++ {
		var got []paddock.RunID
		for at := (store.Cursor{}); ; {
			page := must(s.Latest(t.Context(), at, most))(t)
			if len(page.Items) > most {
				t.Fatalf("%d on a page of %d", len(page.Items), most)
			}
			for _, r := range page.Items {
				got = append(got, r.ID)
			}
			if at = page.Next; !page.More {
				break
			}
		}
		same(t, "latest", got, want)
	}
}
