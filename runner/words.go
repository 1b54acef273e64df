package runner

import (
	"paddock"
	"paddock/internal/app"
)

// The words of package paddock that users of this package meet.
type (
	// A Run is the record of one execution.
	Run = paddock.Run
	// A RunID names one run.
	RunID = paddock.RunID
	// A State of a run; its Settled method tells whether it is final.
	State = paddock.State
	// An Outcome is how a run ended.
	Outcome = paddock.Outcome
	// An Addendum is what became known of the end of a lost run later.
	Addendum = paddock.Addendum
	// A Reason is why.
	Reason = paddock.Reason
	// A Refusal is a decision against a request, carried as an error.
	Refusal = paddock.Refusal
	// A Decision is the judgement of one request.
	Decision = paddock.Decision
	// A Stream names what of a run's output is meant.
	Stream = paddock.Stream
	// A View says how output is shown.
	View = paddock.View
	// A PageRequest asks for a part of a run's output.
	PageRequest = paddock.PageRequest
	// A Page is a part of a run's output.
	Page = paddock.Page
	// A Line says where a line that a search kept is from.
	Line = paddock.Line
	// A Filter narrows a listing.
	Filter = app.Filter
	// A Listing is a page of runs.
	Listing = app.Listing
	// A Choice says which of a run's changes are meant.
	Choice = app.Choice
	// Changes are what a run did to its workspace while that was kept apart.
	Changes = paddock.Changes
	// A FileChange is what happened at one path.
	FileChange = paddock.FileChange
	// Applied is what was brought into a workspace.
	Applied = paddock.Applied
	// Deeper is what was found of protected places in a run's root.
	Deeper = paddock.Deeper
	// A Found is one such place.
	Found = paddock.Found
	// A Quarantine is what was moved out of a run's root.
	Quarantine = paddock.Quarantine
	// Restored is what was moved back.
	Restored = paddock.Restored
	// An Approval is what persons are asked about, with what they said.
	Approval = paddock.Approval
	// An ApprovalID names one.
	ApprovalID = paddock.ApprovalID
	// Stdin says what a program reads on its standard input.
	Stdin = paddock.Stdin
)

// The streams.
const (
	Stdout   = paddock.Stdout
	Stderr   = paddock.Stderr
	Combined = paddock.Combined
)

// The views.
const (
	ViewClean = paddock.ViewClean
	ViewColor = paddock.ViewColor
)

// The states that a run can settle in, and the three before.
const (
	Waiting       = paddock.Waiting // for approval; see Runner.Approval
	Starting      = paddock.Starting
	Running       = paddock.Running
	Exited        = paddock.Exited
	Killed        = paddock.Killed
	TimedOut      = paddock.TimedOut
	OutputLimit   = paddock.OutputLimit
	FailedToStart = paddock.FailedToStart
	Lost          = paddock.Lost
	Refused       = paddock.RefusedState // it waited for approval and didn't get it
	Banked        = paddock.Banked       // what BankArtifact keeps; no program ran
)

// Text is a standard input that holds s.
func Text(s string) Stdin { return Stdin{Text: &s} }
