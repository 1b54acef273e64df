package rows

import (
	"context"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
)

// many are rows, newest first, and how many of them were read.
type many struct {
	rows []store.Run
	read int
}

func (m *many) Runs(_ context.Context, _ store.Scope, _ store.RunFilter, after store.Cursor, most int) (p store.Page[store.Run], err error) {
	at := 0
	if after.ID != "" {
		at = slices.IndexFunc(m.rows, func(r store.Run) bool { return string(r.ID) < after.ID })
	}
	if at < 0 {
		return p, nil
	}
	p.Items = m.rows[at:min(at+most, len(m.rows))]
	m.read += len(p.Items)
	if p.More = at+most < len(m.rows); p.More {
		p.Next = store.Cursor{ID: string(p.Items[len(p.Items)-1].ID)}
	}
	return p, nil
}

// TestPage: a page reads no rows beyond it; where few are wanted it stops after some
// thousand, and who goes on from there misses none.
func TestPage(t *testing.T) {
	t.Parallel()
	m := &many{}
	for i := range 2*mostPassed + 100 {
		id, err := paddock.NewRunID(time.UnixMilli(1_800_000_000_000-int64(i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.rows = append(m.rows, store.Run{ID: id})
	}
	page := func(p Place, want func(paddock.RunID) bool) ([]paddock.Run, paddock.RunID) {
		t.Helper()
		runs, end, err := Page(t.Context(), m, store.Everyone(), "", p, func(r store.Run) (paddock.Run, bool, error) {
			return paddock.Run{ID: r.ID}, want(r.ID), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return runs, end
	}
	all := func(paddock.RunID) bool { return true }
	none := func(paddock.RunID) bool { return false }
	if runs, end := page(Place{Limit: 50}, all); len(runs) != 50 || end != m.rows[49].ID || m.read != 51 {
		t.Errorf("%d runs to %s, %d rows were read", len(runs), end, m.read)
	}
	m.read = 0
	if runs, end := page(Place{Limit: 50, Least: m.rows[49].ID}, none); len(runs) > 0 || end != "" || m.read != 51 {
		t.Errorf("of what is known: %d runs to %q, %d rows were read", len(runs), end, m.read)
	}
	if runs, end := page(Place{Limit: 50, Before: m.rows[len(m.rows)-51].ID}, all); len(runs) != 50 || end != "" {
		t.Errorf("the last page: %d runs to %q", len(runs), end)
	}
	last, steps := m.rows[len(m.rows)-1].ID, 0
	var found []paddock.Run
	for at := paddock.RunID(""); ; steps++ {
		runs, end := page(Place{Limit: 50, Before: at}, func(id paddock.RunID) bool { return id == last })
		found = append(found, runs...)
		if at = end; end == "" || steps > 5 {
			break
		}
	}
	if len(found) != 1 || steps != 2 {
		t.Errorf("%d runs were found in %d steps more", len(found), steps)
	}
}
