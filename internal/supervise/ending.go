//go:build linux

package supervise

import (
	"context"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/spawn"
	"paddock/internal/supervise/deadman"
	"paddock/internal/supervise/reason"
)

// A clock is the timers of an ending. Each channel is nil until it is set.
type clock struct {
	grace   <-chan time.Time // then the tree is killed
	destroy <-chan time.Time // then the process in between is
	abandon <-chan time.Time // then the run is over with survivors
}

// untilEmpty carries the run to the end of its last process and returns how the
// leader ended, nil if that was never learned. r.reason is set by then.
func (r *run) untilEmpty(ctx context.Context) *spawn.Exit {
	var exit *spawn.Exit
	var at clock
	timeout := r.opt.After(time.Duration(r.job.Timeout))
	look := r.bounds.NextLook(r.opt.After)
	idle := r.silence.Begin()
	leased := r.leased(&at)
	if r.reason != nil { // the start could not be recorded
		at.grace = r.opt.After(time.Duration(r.job.Grace))
	}
	for {
		select {
		case e := <-r.program.Exited():
			exit = r.exited(e)
			// The run is over; what it left behind is asked once and killed.
			r.program.Signal(syscall.SIGTERM)
			if at.grace == nil && at.destroy == nil {
				at.grace = r.opt.After(min(leftoverGrace, time.Duration(r.job.Grace)))
			}
		case <-r.program.Empty():
			select {
			case e := <-r.program.Exited():
				exit = r.exited(e)
			default:
			}
			if r.reason == nil {
				r.reason = &paddock.Reason{Kind: paddock.ReasonSignal, Detail: "the process that held the run was ended"}
			}
			return exit
		case <-timeout:
			r.end(end{paddock.Reason{Kind: paddock.ReasonTimeout, Limit: time.Duration(r.job.Timeout).Milliseconds()}, syscall.SIGTERM}, &at)
		case <-idle:
			var over bool
			if idle, over = r.silence.Look(); over {
				r.end(end{r.silence.Reason(r.job.RunDir), syscall.SIGTERM}, &at)
			}
		case <-leased:
			leased = r.leased(&at)
		case <-look:
			if look = r.bounds.NextLook(r.opt.After); r.bounds.Starved() {
				r.end(end{r.bounds.OutOfMemory(), syscall.SIGKILL}, &at)
			}
		case e := <-r.ends:
			r.end(e, &at)
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx)
			r.end(end{paddock.Reason{Kind: paddock.ReasonShutdown, Why: "the supervisor was asked to stop"}, syscall.SIGTERM}, &at)
		case <-at.grace:
			r.kill(&at)
		case <-at.destroy:
			r.program.Destroy()
			at.abandon = r.opt.After(abandonAfter)
		case <-at.abandon:
			r.abandon()
			return exit
		}
	}
}

// leased receives when to look at the lease again. One that is over ends the run.
func (r *run) leased(at *clock) <-chan time.Time {
	next, over := r.lease.Look()
	if over {
		r.end(end{deadman.Reason(), syscall.SIGTERM}, at)
	}
	return next
}

// exited notes how the leader ended, which is the reason unless there was one.
func (r *run) exited(e spawn.Exit) *spawn.Exit {
	if r.reason == nil {
		own := reason.Of(e)
		if r.bounds.Starved() {
			own = r.bounds.OutOfMemory()
		}
		r.reason = &own
	}
	return &e
}

// abandon gives up: the kernel was told to end them and doesn't, for they are
// frozen, or stuck in it.
func (r *run) abandon() {
	r.survivors = max(1, len(lifecycle.Descendants(r.program.Holder())))
	if r.reason == nil {
		r.reason = &paddock.Reason{Kind: paddock.ReasonSignal}
	}
}

// end carries out a request to end the run. The first reason stays; a later
// KILL only makes the ending faster, and anything else changes nothing.
func (r *run) end(e end, at *clock) {
	first := r.reason == nil
	if first {
		r.reason = &e.reason
	}
	switch {
	case e.signal == syscall.SIGKILL:
		r.kill(at)
	case first:
		r.program.Signal(e.signal)
		at.grace = r.opt.After(time.Duration(r.job.Grace))
	default:
		r.loss(e.reason)
	}
}

// begin is end for before the loop runs.
func (r *run) begin(e end) {
	r.reason = &e.reason
	r.program.Signal(e.signal)
}

func (r *run) kill(at *clock) {
	r.program.Kill()
	at.grace = nil
	if at.destroy == nil {
		at.destroy = r.opt.After(destroyAfter)
	}
}
