package narrow

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A house has runs, newest first, and says how often it was asked for a list.
type house struct {
	House
	runs  []paddock.Run
	asked int
	err   error
}

func (h *house) Look(_ context.Context, _ paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	for _, r := range h.runs {
		if r.ID == id {
			return r, nil
		}
	}
	return paddock.Run{}, paddock.Refused(paddock.NotFound, "no")
}

func (h *house) List(_ context.Context, _ paddock.Principal, f app.Filter) (app.Listing, error) {
	h.asked++
	from := 0
	for i, run := range h.runs {
		if run.ID == f.Before {
			from = i + 1
		}
	}
	most := f.Limit
	if most == 0 {
		most = 50
	}
	l := app.Listing{Runs: h.runs[from:min(len(h.runs), from+most)]}
	if end := from + len(l.Runs); end < len(h.runs) {
		l.Next = h.runs[end-1].ID
	}
	return l, h.err
}

func runs(n, each int) (all []paddock.Run) {
	for i := range n {
		r := paddock.Run{ID: paddock.RunID(fmt.Sprintf("r%d", i)), Workspace: "/elsewhere"}
		if each > 0 && i%each == each-1 {
			r.Workspace = "/here"
		}
		all = append(all, r)
	}
	return all
}

func here(r paddock.Run) bool { return r.Workspace == "/here" }

// Pages are full although most runs are elsewhere, and no run is left out or told twice.
func TestListIsFull(t *testing.T) {
	t.Parallel()
	h := &house{runs: runs(1000, 7)}
	var got int
	for f := (app.Filter{Limit: 20}); ; {
		l, err := To(h, here).List(t.Context(), paddock.Principal{}, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.Runs {
			if want := fmt.Sprintf("r%d", 7*got+6); string(r.ID) != want {
				t.Fatalf("run %d is %s, want %s", got, r.ID, want)
			}
			got++
		}
		if f.Before = l.Next; l.Next == "" {
			break
		}
		if len(l.Runs) != 20 || l.Next != l.Runs[19].ID {
			t.Fatalf("%d runs, and %s is next", len(l.Runs), l.Next)
		}
	}
	if got != 142 {
		t.Errorf("%d runs", got)
	}
}

// Who may see nothing doesn't have everything read for him.
func TestListEnds(t *testing.T) {
	t.Parallel()
	h := &house{runs: runs(10_000, 0)}
	l, err := To(h, here).List(t.Context(), paddock.Principal{}, app.Filter{})
	if err != nil || len(l.Runs) != 0 || l.Runs == nil || l.Next != "r1999" || h.asked != 40 {
		t.Errorf("%d runs, %s is next, after %d: %v", len(l.Runs), l.Next, h.asked, err)
	}
	h = &house{runs: runs(7, 7), err: &app.Unreadable{}}
	var some *app.Unreadable
	if l, err := To(h, here).List(t.Context(), paddock.Principal{}, app.Filter{}); len(l.Runs) != 1 || !errors.As(err, &some) {
		t.Errorf("%+v, %v", l, err)
	}
	h.err = errors.New("broken")
	if l, err := To(h, here).List(t.Context(), paddock.Principal{}, app.Filter{}); len(l.Runs) != 0 || err == nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// Where nobody knows workspaces, a token for some sees and starts nothing.
func TestNobodyKnows(t *testing.T) {
	t.Parallel()
	h := &house{runs: runs(7, 1)}
	token := gate.Caller{Name: "ann", Who: auth.Who{User: "u1", Token: "t1", Workspaces: []string{"site"}}}
	seen, err := For(t.Context(), h, nil, token)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := seen.List(t.Context(), paddock.Principal{}, app.Filter{}); err != nil || len(l.Runs) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := seen.Look(t.Context(), paddock.Principal{}, "r0"); err == nil {
		t.Error("a run was shown")
	}
	if dir, err := Path(t.Context(), nil, token, "", nil); err == nil {
		t.Errorf("it starts in %q", dir)
	}
	if seen, err := For(t.Context(), h, nil, gate.Caller{Name: "ann"}); err != nil || seen != House(h) {
		t.Errorf("%v, %v", seen, err)
	}
}
