package notes

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/short/glance"
)

// A reader is who reads a stream of a run without masks.
type reader struct {
	by     paddock.Principal
	run    paddock.RunID
	stream paddock.Stream
}

// A reading is a reader's window: what was read in it beside the page that was told.
type reading struct {
	from time.Time
	more glance.Detail
}

func (r reading) over(now time.Time) bool {
	return !now.Before(r.from.Add(window)) || now.Before(r.from)
}

func (r reader) entry(d glance.Detail) journal.Entry {
	d.Stream = r.stream
	return journal.Entry{Kind: journal.Unmasked, Principal: &r.by, Run: r.run, Unmasked: &d}
}

// Unmasked tells that by is about to be shown the bytes from offset from up to to of a
// stream, with what is hidden there of secrets. What can't be told isn't shown. Who
// goes on reading is told of once for all pages of a minute, when it is over.
func (n *Notes) Unmasked(ctx context.Context, by paddock.Principal, run paddock.RunID, stream paddock.Stream, from, to int64) error {
	r, now := reader{by, run, stream}, n.now()
	n.mu.Lock()
	if was, ok := n.readings[r]; ok && !was.over(now) {
		was.more.With(from, to)
		n.readings[r] = was
		n.mu.Unlock()
		return nil
	}
	n.mu.Unlock()
	d := glance.Detail{From: from, To: to}
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := n.w.Append(ctx, r.entry(d)); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	was, ok := n.readings[r]
	n.readings[r] = reading{from: now}
	if ok && was.more.Pages > 0 {
		return n.w.Append(ctx, r.entry(was.more))
	}
	return nil
}

// glances tells of what was read in windows that are over, or in all of them.
func (n *Notes) glances(ctx context.Context, all bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for r, was := range n.readings {
		if !all && !was.over(n.now()) {
			continue
		}
		if was.more.Pages > 0 {
			if err := n.w.Append(ctx, r.entry(was.more)); err != nil {
				return err
			}
		}
		delete(n.readings, r)
	}
	return nil
}
