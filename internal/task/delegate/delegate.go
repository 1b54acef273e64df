// Package delegate gives tasks to agents that the policy lists, and hands back what
// they report.
//
// A delegate is a run in the name of who asked, judged by the policy's `delegates`
// section, with the task on its standard input and its report on its standard
// output. There may be more delegates than the policy lets run at once: they wait
// for their turn, each depth in a queue of its own, so that one that waits for its
// own delegate never takes that one's place. What is known of a delegate is a file in
// the state directory, which any process moves on that looks at it: nothing depends
// on the process that was asked.
//
// A result is handed out as often as it is asked for, until whoever asked for it says
// that it has it. So a call that is cut off loses nothing, and nothing comes twice to
// one who acknowledges.
//
// # Limits
//
// The package doesn't ask whose a delegate is but where it says so; package app does
// the rest. A report is what a program printed: its words are a claim. What a tool does
// is for who serves them, whom package app hands in; a delegate that has some ends with
// the process that serves them. At level off its depth is known by whose child it is,
// or by a variable: a program that is held by nothing may get others to ask for it.
package delegate

import (
	"context"

	"paddock"
	"paddock/internal/task/delegate/book"
	"paddock/internal/task/delegate/book/errand"
	"paddock/internal/task/delegate/book/report"
)

// Name is the room's, in requests and in policies.
const Name = errand.Name

// Variable of the environment has a delegate's id.
const Variable = errand.Variable

// DoorVariable has the number of the descriptor by which a delegate has tools.
const DoorVariable = errand.DoorVariable

// Bounds.
const (
	MostTask    = 256 << 10 // bytes of a task
	MostSummary = report.MostSummary
	MostOpen    = 64  // delegates of one principal that aren't acknowledged
	MostAtOnce  = 16  // results in one answer
	mostWhy     = 500 // bytes of the reason for a cancel
)

// The words of package book.
type (
	Delegate = book.Delegate
	Result   = book.Result
	Status   = book.Status
	State    = book.State
)

// The states and statuses.
const (
	Queued       = book.Queued
	Running      = book.Running
	Ready        = book.Ready
	Acknowledged = book.Acknowledged
	Completed    = book.Completed
	Partial      = book.Partial
	Failed       = book.Failed
	Canceled     = book.Canceled
	Starved      = book.Starved
)

// ParseID says whether s can be a delegate's id.
func ParseID(s string) bool { return book.ParseID(s) }

// Explain judges a task as if a delegate began with it now, given by nobody's delegate.
// It changes nothing.
func Explain(ctx context.Context, j errand.Judge, a Ask) (paddock.Decision, error) {
	if err := a.check(); err != nil {
		return paddock.Decision{}, err
	}
	job := book.Job{Task: a.Task, Dir: a.Dir, Timeout: a.Timeout, Tied: a.Tied}
	return errand.Explain(ctx, j, Delegate{Principal: a.Principal, Door: a.Door, Provider: a.Provider, Label: a.Label, Job: &job})
}

// An Ask is a task for an agent.
type Ask struct {
	Principal paddock.Principal
	Door      paddock.Door
	Tied      bool // the run ends with whoever asks
	// Provider is one of the policy's; empty is the only one.
	Provider string
	Task     string
	Label    string
	// Dir is where it works; empty is the first root. Timeout can only lower.
	Dir     string
	Timeout paddock.Duration
	// Parent is the delegate in whose name this is asked.
	Parent string
	// Key, if it isn't empty, makes asking again return the delegate of the first time.
	Key string
}
