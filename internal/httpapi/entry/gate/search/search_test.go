package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A house has runs, newest first.
type house []paddock.Run

func (h house) List(_ context.Context, _ paddock.Principal, f app.Filter) (app.Listing, error) {
	from := 0
	for i, run := range h {
		if run.ID == f.Before {
			from = i + 1
		}
	}
	list := app.Listing{Runs: h[from:min(len(h), from+f.Limit)]}
	if end := from + len(list.Runs); end < len(h) {
		list.Next = h[end-1].ID
	}
	return list, nil
}

func id(i int) string { return fmt.Sprintf("r%026d", i) }

func TestFind(t *testing.T) {
	t.Parallel()
	var h house
	for i := range 2300 {
		run := paddock.Run{ID: paddock.RunID(id(i)), Argv: []string{"go", "test"}}
		switch {
		case i%100 == 0:
			run.Argv = append(run.Argv, "./Needle/...")
		case i == 7:
			run.Label = "a NEEDLE"
		}
		h = append(h, run)
	}
	var got []string
	for q := (query{Text: "needle", Limit: 5}); ; {
		found, err := find(t.Context(), h, paddock.Principal{}, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range found.Runs {
			got = append(got, string(run.ID))
		}
		if q.Cursor = string(found.Next); q.Cursor == "" {
			break
		}
	}
	if len(got) != 24 || got[0] != id(0) || got[1] != id(7) || got[23] != id(2200) {
		t.Errorf("%d: %v", len(got), got)
	}
	for _, q := range []query{{}, {Text: "x", Limit: -1}, {Text: "x", Limit: 1001}, {Text: strings.Repeat("x", 1001)}} {
		var r *paddock.Refusal
		if _, err := find(t.Context(), h, paddock.Principal{}, q, nil); !errors.As(err, &r) || r.Code != paddock.InvalidRequest {
			t.Errorf("%+v: %v", q, err)
		}
	}
	many := make(house, 25_000)
	for i := range many {
		many[i].ID = paddock.RunID(id(i))
	}
	if found, err := find(t.Context(), many, paddock.Principal{}, query{Text: "x"}, nil); err != nil || found.Looked != looked || found.Next != paddock.RunID(id(1999)) {
		t.Errorf("%+v, %v", found, err)
	}
}

// blind shows nothing of what it has, and has no end.
type blind struct{ asked int }

func (b *blind) List(context.Context, paddock.Principal, app.Filter) (app.Listing, error) {
	b.asked++
	return app.Listing{Next: paddock.RunID(fmt.Sprint(b.asked))}, nil
}

// A token that sees little of what there is doesn't have all of it read at once.
func TestFindEnds(t *testing.T) {
	t.Parallel()
	b := &blind{}
	found, err := find(t.Context(), b, paddock.Principal{}, query{Text: "x"}, nil)
	if err != nil || len(found.Runs) != 0 || found.Next == "" || b.asked > looked/page {
		t.Errorf("%+v after %d, %v", found, b.asked, err)
	}
}
