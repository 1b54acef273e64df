package delegate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"paddock"
)

// A Collect says which results are wanted.
type Collect struct {
	Principal paddock.Principal
	// All waits until no delegate is pending, and not only for the first result.
	All bool
	// ID, if it isn't empty, is the one delegate that is meant.
	ID string
	// Wait is how long to wait, at most paddock.MaxWait; zero only looks.
	Wait time.Duration
	// Acknowledge are the delegates whose results whoever asks has: they aren't
	// handed out again. To say it again is fine.
	Acknowledge []string
}

// Collected are results, those first that were there first.
type Collected struct {
	Completed []Delegate `json:"completed"`
	// Acknowledged are those that this call claimed.
	Acknowledged []string `json:"acknowledged"`
	Pending      int      `json:"pending"`
	Ready        int      `json:"ready"` // results that wait, those in Completed included
	// TimedOut says that the wait was over before there was what was asked for.
	TimedOut bool `json:"timed_out"`
}

// Collect acknowledges results and hands out those that wait. It can be repeated: what
// isn't acknowledged comes again.
func (r *Room) Collect(ctx context.Context, c Collect) (Collected, error) {
	switch {
	case c.Wait < 0 || c.Wait > paddock.MaxWait:
		return Collected{}, paddock.Refused(paddock.InvalidRequest, "The wait is %d ms; it is from 0 to %d.", c.Wait.Milliseconds(), paddock.MaxWait.Milliseconds())
	case len(c.Acknowledge) > MostOpen:
		return Collected{}, paddock.Refused(paddock.InvalidRequest, "There are %d delegates to acknowledge; at most %d at once.", len(c.Acknowledge), MostOpen)
	}
	if _, err := r.turn(ctx); err != nil {
		return Collected{}, err
	}
	claimed, err := r.acknowledge(ctx, c)
	if err != nil {
		return Collected{}, err
	}
	r.drive()
	limited, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		out, enough, err := r.gather(ctx, c)
		out.Acknowledged = claimed
		if err != nil || enough {
			return out, err
		}
		tick := time.NewTimer(look)
		select {
		case <-changed:
		case <-tick.C:
		case <-limited.Done():
		}
		tick.Stop()
		if limited.Err() != nil {
			out, enough, err = r.gather(context.WithoutCancel(ctx), c)
			out.Acknowledged, out.TimedOut = claimed, !enough
			return out, cmp.Or(ctx.Err(), err)
		}
	}
}

// gather returns what there is now, and whether that is what was asked for.
func (r *Room) gather(ctx context.Context, c Collect) (Collected, bool, error) {
	all, err := r.turn(ctx)
	if err != nil {
		return Collected{}, false, err
	}
	out := Collected{Completed: []Delegate{}}
	for _, d := range all {
		switch {
		case d.Principal != c.Principal:
		case d.Pending():
			out.Pending++
		default:
			out.Ready++
			out.Completed = append(out.Completed, d)
		}
	}
	if c.ID != "" {
		d, err := r.book.Find(c.Principal, c.ID)
		out.Completed = []Delegate{}
		if err == nil && !d.Pending() {
			out.Completed = append(out.Completed, d)
		}
		return out, len(out.Completed) > 0, err
	}
	slices.SortStableFunc(out.Completed, func(a, b Delegate) int {
		return cmp.Or(a.Result.SettledAt.Compare(b.Result.SettledAt), strings.Compare(a.ID, b.ID))
	})
	out.Completed = out.Completed[:min(len(out.Completed), MostAtOnce)]
	return out, out.Pending == 0 || !c.All && out.Ready > 0, nil
}

// acknowledge claims results: all that are named, or none.
func (r *Room) acknowledge(ctx context.Context, c Collect) ([]string, error) {
	claimed := []string{}
	if len(c.Acknowledge) == 0 {
		return claimed, nil
	}
	err := r.book.Locked(ctx, func() error {
		var fresh []Delegate
		for _, id := range c.Acknowledge {
			d, err := r.book.Find(c.Principal, id)
			if err != nil {
				return err
			}
			if d.Pending() {
				refusal := paddock.Refused(paddock.Conflict, "The delegate %s has no result yet, so there is nothing to acknowledge.", id)
				refusal.Hint = "Wait for it with collect_results, or end it with cancel_delegate."
				return refusal
			}
			if d.State == Ready && !slices.ContainsFunc(fresh, func(o Delegate) bool { return o.ID == id }) {
				fresh = append(fresh, d)
			}
		}
		for _, d := range fresh {
			if err := r.book.Claim(d); err != nil {
				return err
			}
			claimed = append(claimed, d.ID)
		}
		return r.book.Forget()
	})
	if err == nil && len(claimed) > 0 {
		r.tell()
	}
	return claimed, err
}
