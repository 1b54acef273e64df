// Package reason gives the end of a run its words: which state a reason settles
// it in, and what the leader's own end adds.
//
// # Limits
//
// Which reason came first is not known here: package supervise keeps it.
package reason

import (
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/spawn"
)

// State gives the state that a reason settles a run in.
func State(kind paddock.ReasonKind) paddock.State {
	switch kind {
	case paddock.ReasonExit:
		return paddock.Exited
	case paddock.ReasonTimeout:
		return paddock.TimedOut
	case paddock.ReasonOutputLimit:
		return paddock.OutputLimit
	case paddock.ReasonStart:
		return paddock.FailedToStart
	case paddock.ReasonLost, paddock.ReasonHost:
		return paddock.Lost
	default:
		return paddock.Killed
	}
}

// Of tells an exit of the program's own from a signal that wasn't ours.
func Of(e spawn.Exit) paddock.Reason {
	if e.Status.Signaled() {
		return With(paddock.Reason{Kind: paddock.ReasonSignal}, &e)
	}
	return With(paddock.Reason{Kind: paddock.ReasonExit}, &e)
}

// With adds to reason how the leader ended, if that was learned.
func With(reason paddock.Reason, e *spawn.Exit) paddock.Reason {
	switch {
	case e == nil:
	case e.Status.Signaled():
		reason.Signal = unix.SignalName(e.Status.Signal())
	case e.Status.Exited():
		code := e.Status.ExitStatus()
		reason.ExitCode = &code
	}
	return reason
}

// FailedToStart is the outcome of a run of which no instruction was executed.
func FailedToStart(step string, err error, now time.Time) paddock.Outcome {
	return paddock.Outcome{
		State:   paddock.FailedToStart,
		Reason:  paddock.Reason{Kind: paddock.ReasonStart, Step: step, Detail: err.Error()},
		EndedAt: now, SettledAt: now,
	}
}

// Also is what is said in detail beside what was said already.
func Also(detail, more string) string {
	if detail == "" {
		return more
	}
	return detail + "; " + more
}
