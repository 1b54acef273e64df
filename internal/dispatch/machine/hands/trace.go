package hands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/lease/order"
	"paddock/internal/trace"
)

// A part is what a run is a part of, and when it was begun here.
type part struct {
	trace.Context
	at time.Time
}

// begun is what the order says of its trace. The order is signed; still, what it says is
// held to its form, and nothing depends on it.
func (h *Hands) begun(o order.Order) part {
	if h.Traces == nil {
		return part{}
	}
	c, _ := trace.Parse(o.Trace)
	return part{c, h.Now()}
}

// started tells of the time in the queue and of the start. What comes of the run is told
// when it is over, maybe by another process of this worker: so it is kept with the lease.
func (h *Hands) started(ctx context.Context, o order.Order, p part, err error) {
	if !p.Sampled {
		return
	}
	run := runOf(p.Context, o.Run)
	var failed string
	var refused *paddock.Refusal
	if err != nil {
		if failed = "fault"; errors.As(err, &refused) {
			failed = string(refused.Code)
		}
	}
	id, worker := trace.Text("paddock.run.id", string(o.Run)), trace.Text("paddock.worker.id", h.Worker)
	h.Traces.Emit(trace.Span{Context: run.Below("queue"), Parent: run.Span, Name: "queue", Kind: trace.Consumer, Start: o.Run.Time(), End: p.at, Attributes: []trace.Attribute{id, worker}})
	now := h.Now()
	start := trace.Span{Context: run.Below("start"), Parent: run.Span, Name: "start", Start: p.at, End: now, Failed: failed, Attributes: []trace.Attribute{id, worker}}
	if err == nil {
		if here, bad := h.Executor.Run(ctx, o.Run); bad == nil && here.StartedAt != nil {
			start.End = *here.StartedAt
		}
	}
	h.Traces.Emit(start)
	if err != nil {
		h.Traces.Emit(trace.Span{Context: run, Parent: p.Span, Name: "run", Start: o.Run.Time(), End: now, Failed: failed, Attributes: []trace.Attribute{id, worker}})
		return
	}
	h.mu.Lock()
	h.traced[o.Run] = p.Context
	h.mu.Unlock()
	if err := h.Executor.Leases.Keep(o.Run, p.String()); err != nil {
		h.Warn(fmt.Errorf("run %s: its trace is forgotten if this process ends: %w", o.Run, err))
	}
}

// runOf is the span of a whole run: the same, whoever tells of it.
func runOf(c trace.Context, id paddock.RunID) trace.Context { return c.Below("run", string(id)) }

// known takes up the trace of a run that another process of this worker began.
func (h *Hands) known(run paddock.Run) {
	if h.Traces == nil {
		return
	}
	h.mu.Lock()
	_, known := h.traced[run.ID]
	h.mu.Unlock()
	if !known {
		c, ok := trace.Parse(h.Executor.Leases.Kept(run.ID))
		if !ok {
			return
		}
		h.mu.Lock()
		h.traced[run.ID] = c
		h.mu.Unlock()
	}
	if run.Outcome != nil {
		h.tellOf(run)
	}
}

// over tells of a run that has ended.
func (h *Hands) over(id paddock.RunID) {
	if h.Traces == nil {
		return
	}
	if run, err := h.Executor.Run(h.life, id); err == nil && run.Outcome != nil {
		h.tellOf(run)
	}
}

// tellOf tells what became of a run, once: as its record has it.
func (h *Hands) tellOf(run paddock.Run) {
	h.mu.Lock()
	c, there := h.traced[run.ID]
	delete(h.traced, run.ID)
	h.mu.Unlock()
	if !there || !c.Sampled {
		return
	}
	_ = h.Executor.Leases.Keep(run.ID, "") // told again it would be the same span
	whole, o := runOf(c, run.ID), run.Outcome
	id := trace.Text("paddock.run.id", string(run.ID))
	span := trace.Span{Context: whole, Parent: c.Span, Name: "run", Start: run.CreatedAt, End: o.SettledAt, Attributes: []trace.Attribute{
		id, trace.Text("paddock.worker.id", h.Worker), trace.Text("paddock.run.state", string(o.State)), trace.Text("paddock.run.reason", string(o.Reason.Kind)),
		trace.Number("paddock.run.stdout.bytes", run.Stdout.Bytes), trace.Number("paddock.run.stderr.bytes", run.Stderr.Bytes),
	}}
	switch o.State {
	case paddock.Exited: // with whatever status: a result is no failure of ours
	case paddock.FailedToStart, paddock.Lost, paddock.RefusedState:
		span.Failed = string(o.State)
	}
	if run.StartedAt != nil {
		h.Traces.Emit(trace.Span{Context: whole.Below("program"), Parent: whole.Span, Name: "program", Start: *run.StartedAt, End: o.EndedAt, Attributes: []trace.Attribute{id}})
		h.Traces.Emit(trace.Span{Context: whole.Below("seal"), Parent: whole.Span, Name: "seal", Start: o.EndedAt, End: o.SettledAt, Attributes: []trace.Attribute{id}})
	}
	h.Traces.Emit(span)
}
