// Package fair chooses which of the runs that wait a worker is to have: by turns of their
// owners, within limits.
//
// # Limits
//
// It claims nothing, and trusts the line that it is shown.
package fair

import (
	"cmp"
	"context"
	"slices"

	"paddock"
	"paddock/internal/store"
)

// Limits are how many runs may be on workers at once; 0 stands for any number.
type Limits struct {
	Owner, Workspace int64
	// Without are labels that the worker doesn't have at the moment.
	Without []string
}

const (
	// glance is how many runs of an owner are looked at together, and far how many
	// at most while looking for one that a worker can take.
	glance = 32
	far    = 1024
)

// An heir is an owner while runs are chosen.
type heir struct {
	store.Share
	turn   int // when one of his was chosen by this claim, 0 for not yet
	queued []store.Waiter
	last   *store.Waiter
	looked int
	over   bool
}

// Choose returns which runs the worker who asks is to have: as many as it has room
// for, by turns of the owners. Next is who has fewest runs on workers, of equals who
// got one longest ago.
func Choose(ctx context.Context, l store.Line, limits Limits) ([]paddock.RunID, error) {
	w := l.Worker()
	if w.Mode != store.Open {
		return nil, nil
	}
	held, err := l.Held(ctx)
	if err != nil || held >= w.Capacity {
		return nil, err
	}
	shares, err := l.Owners(ctx)
	if err != nil || len(shares) == 0 {
		return nil, err
	}
	busy, err := l.Busy(ctx)
	if err != nil {
		return nil, err
	}
	heirs := make([]*heir, len(shares))
	for i, s := range shares {
		heirs[i] = &heir{Share: s}
	}
	var chosen []paddock.RunID
	for room := w.Capacity - held; room > 0; room-- {
		slices.SortFunc(heirs, before)
		id, err := chooseOne(ctx, l, heirs, busy, limits, len(chosen)+1)
		if err != nil || id == "" {
			return chosen, err
		}
		chosen = append(chosen, id)
	}
	return chosen, nil
}

func before(a, b *heir) int {
	return cmp.Or(cmp.Compare(a.Live, b.Live), cmp.Compare(a.turn, b.turn), a.LastClaimed.Compare(b.LastClaimed.Time), cmp.Compare(a.Owner, b.Owner))
}

// chooseOne returns the next run, or none.
func chooseOne(ctx context.Context, l store.Line, heirs []*heir, busy map[store.WorkspaceID]int64, limits Limits, turn int) (paddock.RunID, error) {
	for _, h := range heirs {
		if limits.Owner > 0 && h.Live >= limits.Owner {
			continue
		}
		next, err := h.next(ctx, l, func(r store.Waiter) bool {
			full := limits.Workspace > 0 && r.Workspace != "" && busy[r.Workspace] >= limits.Workspace
			return !full && fits(r, l.Worker(), limits.Without)
		})
		if err != nil {
			return "", err
		}
		if next == nil {
			continue
		}
		h.Live++
		h.turn = turn
		if next.Workspace != "" {
			busy[next.Workspace]++
		}
		return next.ID, nil
	}
	return "", nil
}

// fits reports whether the worker has what the run needs.
func fits(r store.Waiter, w store.Worker, without []string) bool {
	return !slices.ContainsFunc(r.Needs, func(need string) bool {
		return !slices.Contains(w.Labels, need) || slices.Contains(without, need)
	})
}

// next takes the owner's first run that is fine. What isn't stays for other workers;
// in this claim it isn't looked at again, since nothing gets freer meanwhile.
func (h *heir) next(ctx context.Context, l store.Line, fine func(store.Waiter) bool) (*store.Waiter, error) {
	for {
		if len(h.queued) == 0 {
			if h.over || h.looked >= far {
				return nil, nil
			}
			page, err := l.Queued(ctx, h.Owner, h.last, glance)
			if err != nil {
				return nil, err
			}
			h.looked += len(page)
			if h.over = len(page) < glance; len(page) == 0 {
				return nil, nil
			}
			h.queued, h.last = page, &page[len(page)-1]
		}
		r := h.queued[0]
		h.queued = h.queued[1:]
		if fine(r) {
			return &r, nil
		}
	}
}
