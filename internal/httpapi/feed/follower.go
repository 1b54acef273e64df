package feed

import (
	"context"
	"errors"
	"io"

	"paddock"
)

// ErrOver is the error of following a run after its last number: there is nothing more
// and never will be.
var ErrOver = errors.New("everything was read")

// errOpen says that nobody has said yet how the run came out, although all of it was read.
var errOpen = errors.New("it isn't said yet how the run came out")

// vague reports whether a settled run may have printed more than is known here: it was
// given up, and its machine isn't there to say.
func vague(run paddock.Run) bool {
	return run.Outcome != nil && run.Outcome.Reason.Kind == paddock.ReasonLost && run.Outcome.Stdout.Digest == ""
}

// A Follower reads the events of one run from a number on. It is for one goroutine.
type Follower struct {
	hub    *Hub
	src    *source
	as     paddock.Principal
	run    paddock.Run
	next   int64 // the number that is due
	hinted paddock.State
	ended  bool
	vague  bool // when it began, it wasn't known how much there is
	turn   turn
	mine   bool // it is this one's turn
}

// A turn is shared by those whose messages go to the same client: one of them at a time
// reads a page of its own, and keeps the turn until it is asked for what is next.
type turn chan struct{}

// TakeTurns has the followers of one client read one after another, so that what is kept
// for a client that takes nothing is one page, however many runs it follows. It is called
// before Next, if at all.
func TakeTurns(all []*Follower) {
	t := make(turn, 1)
	for _, f := range all {
		f.turn = t
	}
}

// take waits for the turn.
func (f *Follower) take(ctx context.Context) error {
	if f.turn == nil || f.mine {
		return nil
	}
	select {
	case f.turn <- struct{}{}:
		f.mine = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-f.hub.Done():
		return context.Canceled
	}
}

// give ends the turn, if it is this one's.
func (f *Follower) give() {
	if f.mine {
		<-f.turn
		f.mine = false
	}
}

// Follow returns a Follower for p that begins after a number; 0 is the beginning. The
// caller closes it.
func (h *Hub) Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, after int64) (*Follower, error) {
	run, err := h.house.Look(ctx, p, id)
	if err != nil {
		return nil, err
	}
	last, open := firstByte+total(run), run.State.Settled() && vague(run)
	if open {
		page, err := h.house.Output(ctx, p, id, paddock.PageRequest{Stream: paddock.Combined, Raw: true, Limit: 1})
		if open = away(err); err == nil {
			last = firstByte + page.Total
		}
	}
	if run.State.Settled() && !open {
		if after == last {
			return nil, ErrOver
		}
		if after > last {
			return nil, paddock.Refused(paddock.InvalidRequest, "The run has %d events; there is none with the number %d.", last, after)
		}
	}
	if after >= firstByte && !run.State.Settled() { // a number that isn't there yet can't have been read
		ask := paddock.PageRequest{Stream: paddock.Combined, Raw: true, Limit: 1, Offset: after - firstByte + 1}
		if _, err := h.house.Output(ctx, p, id, ask); err != nil && prunedBy(err) == nil && !away(err) {
			return nil, err
		}
	}
	src, err := h.acquire(p, run)
	if err != nil {
		return nil, err
	}
	return &Follower{hub: h, src: src, as: p, run: run, next: after + 1, vague: open}, nil
}

// Close ends the following.
func (f *Follower) Close() {
	f.give()
	f.hub.release(f.src)
}

// Next waits for the next messages. After the end it returns io.EOF. To call it says that
// the messages before were sent.
func (f *Follower) Next(ctx context.Context) (messages []Message, err error) {
	f.give()
	err = guarded(func() (err error) {
		messages, err = f.await(ctx)
		return err
	})
	return messages, err
}

func (f *Follower) await(ctx context.Context) ([]Message, error) {
	if f.ended {
		return nil, io.EOF
	}
	for {
		now := f.src.now(f.next)
		if now.err != nil {
			return nil, now.err
		}
		f.run = now.run
		messages, err := f.ready(ctx, now)
		if away(err) || errors.Is(err, errOpen) {
			f.give() // machines of others may be there
			if err := f.rest(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil || len(messages) > 0 {
			for _, m := range messages {
				f.next = max(f.next, m.Last+1)
			}
			return messages, err
		}
		f.give() // a page may have been half a character
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.hub.Done():
			return nil, context.Canceled
		}
	}
}

// rest waits for a moment.
func (f *Follower) rest(ctx context.Context) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(f.hub.life, func() { cancel(context.Canceled) })
	defer stop()
	return pause(limited, awayWait)
}

// ready returns what can be said now.
func (f *Follower) ready(ctx context.Context, now moment) ([]Message, error) {
	at := f.next - firstByte // the offset of the byte that is due
	switch {
	case f.next == accepted:
		created := f.run.CreatedAt
		return one(message(f.run.ID, KindState, accepted, accepted, State{f.run.ID, accepted, accepted, "accepted", &created, ""}))
	case f.next == started && !now.begun:
		return f.hint()
	case f.next == started:
		s := State{Run: f.run.ID, Seq: started, Until: started, State: "not-started"}
		if f.run.StartedAt != nil {
			s.State, s.At = "started", f.run.StartedAt
		}
		return one(message(f.run.ID, KindState, started, started, s))
	case len(now.ready) > 0:
		return now.ready, nil
	case f.vague && now.pos >= 0 && at == now.pos+1: // its end was read when more was known
		if !now.settled {
			return nil, nil
		}
		f.ended = true
		return nil, io.EOF
	case at == now.pos && now.settled:
		return f.finish(ctx, at)
	case now.pos >= 0 && at != now.pos:
		// Behind what was read for everybody, or, after a page of its own, before it. Who
		// asks for what isn't there at all is told so by the verb.
		return f.page(ctx, at, now)
	}
	return nil, nil
}

// hint says that a run waits, once.
func (f *Follower) hint() ([]Message, error) {
	if f.run.State == f.hinted {
		return nil, nil
	}
	f.hinted = f.run.State
	return one(message(f.run.ID, KindStatus, 0, 0, State{Run: f.run.ID, State: string(f.run.State), Approval: f.run.Approval}))
}

// page reads what others have read before.
func (f *Follower) page(ctx context.Context, at int64, now moment) ([]Message, error) {
	ask := paddock.PageRequest{Stream: paddock.Combined, Raw: true, Limit: pageBytes, Offset: at}
	exact := now.within > f.next && now.within-f.next <= pageBytes // where somebody else's message ends
	if exact {
		ask.Limit = int(now.within - f.next)
	}
	if err := f.take(ctx); err != nil {
		return nil, err
	}
	page, err := f.hub.house.Output(ctx, f.as, f.run.ID, ask)
	if pruned := prunedBy(err); pruned != nil {
		return f.truncated(ctx, at, pruned)
	}
	if err != nil {
		return nil, err
	}
	return cut(f.run.ID, page, !page.EOF && !exact)
}

// truncated stands for every byte from at on.
func (f *Follower) truncated(ctx context.Context, at int64, why *paddock.Refusal) ([]Message, error) {
	run, err := f.hub.house.Look(ctx, f.as, f.run.ID)
	if err != nil {
		return nil, err
	}
	t := Truncated{Run: run.ID, Seq: firstByte + at, Until: firstByte + total(run) - 1, Bytes: total(run) - at, Why: why.Message}
	return one(message(run.ID, KindTruncated, t.Seq, t.Until, t))
}

// finish says how the run ended. Who owns it has read its end then.
func (f *Follower) finish(ctx context.Context, at int64) ([]Message, error) {
	run, err := f.hub.house.Status(ctx, f.as, f.run.ID)
	if err != nil {
		return nil, err
	}
	if !run.State.Settled() {
		return nil, errOpen
	}
	f.ended = true
	return one(message(run.ID, KindEnd, firstByte+at, firstByte+at, End{run.ID, firstByte + at, firstByte + at, run.State, run.Outcome}))
}

func one(m Message, err error) ([]Message, error) {
	if err != nil {
		return nil, err
	}
	return []Message{m}, nil
}
