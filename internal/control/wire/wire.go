// Package wire is the words of the conversation with a supervisor and how they
// are written: a JSON object per line.
//
// # Limits
//
// It reads and writes no connection but through the reader it is given, and
// answers nothing.
package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	jsonv1 "encoding/json"

	"paddock"
)

// Protocol is the version of the conversation that this code speaks.
const Protocol = 1

const (
	MaxLine  = 1 << 20 // of a received line, without its end
	MaxHello = 4 << 10 // of the line of a peer that isn't known yet
)

// The verbs.
const (
	VerbHello     = "hello"
	VerbStatus    = "status"
	VerbKill      = "kill"
	VerbRenew     = "renew"
	VerbStdin     = "stdin"
	VerbSubscribe = "subscribe"
)

// A Kill says how a run is to end and why.
type Kill struct {
	// Kind is kill, abort or shutdown.
	Kind paddock.ReasonKind `json:"kind"`
	// Signal is TERM, INT, HUP or KILL.
	Signal string `json:"signal"`
	// By is the principal id, and Why the words, of who asks.
	By  string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

// Check refuses what no supervisor could carry out.
func (k Kill) Check() error {
	switch k.Kind {
	case paddock.ReasonKill, paddock.ReasonAbort, paddock.ReasonShutdown:
	default:
		return fmt.Errorf("kind %q isn't kill, abort or shutdown", k.Kind)
	}
	switch k.Signal {
	case "TERM", "INT", "HUP", "KILL":
		return nil
	}
	return fmt.Errorf("signal %q isn't TERM, INT, HUP or KILL", k.Signal)
}

// A Renewal says that a leased run may go on.
type Renewal struct {
	// Until is a time of the machine's boot clock, in nanoseconds: one that is the
	// same for all processes, goes on while the machine sleeps and is set by nobody.
	Until int64 `json:"until"`
}

// A Status is what a supervisor says of its run.
type Status struct {
	State     paddock.State     `json:"state"`
	LeaderPID int               `json:"leader_pid,omitempty"`
	Stdout    int64             `json:"stdout"`
	Stderr    int64             `json:"stderr"`
	Isolation paddock.Isolation `json:"isolation,omitempty"`
	Settled   bool              `json:"settled"`
}

// The kinds of events.
const (
	EventStarted = "started" // the program became the program
	EventOutput  = "output"  // Stdout and Stderr are the sizes now
	EventSettled = "settled" // Outcome is published
	EventFailed  = "failed"  // the supervisor can't do its part; Error says why
)

// An Event tells subscribers of a change.
type Event struct {
	Kind    string           `json:"kind"`
	Stdout  int64            `json:"stdout,omitempty"`
	Stderr  int64            `json:"stderr,omitempty"`
	Outcome *paddock.Outcome `json:"outcome,omitempty"`
	// Kept says of a settled run that Outcome is what its directory says, and that the
	// journal knows: whoever hears it needn't look.
	Kept  bool   `json:"kept,omitempty"`
	Error string `json:"error,omitempty"`
}

// A Typed is what an attachment asks of a run's terminal.
type Typed = paddock.Typing

// A Request is a line of a client.
type Request struct {
	ID       int64  `json:"id,omitempty"`
	Verb     string `json:"verb"`
	Protocol int    `json:"protocol,omitempty"` // hello
	Token    string `json:"token,omitempty"`    // hello
	Kill     *Kill  `json:"kill,omitempty"`     // kill
	Typed    *Typed `json:"typed,omitempty"`    // stdin
	// Renewal is of renew; without one the run is only said to be still wanted.
	Renewal *Renewal `json:"renewal,omitempty"`
}

// A Reply is a line of a supervisor.
type Reply struct {
	ID       int64   `json:"id,omitempty"`
	OK       bool    `json:"ok,omitempty"`
	Protocol int     `json:"protocol,omitempty"` // to hello
	Status   *Status `json:"status,omitempty"`   // to status
	Event    *Event  `json:"event,omitempty"`    // to nothing
	Error    *Error  `json:"error,omitempty"`
}

// A Code says why a request wasn't carried out.
type Code string

// The codes.
const (
	Malformed    Code = "malformed"    // the line isn't a request
	UnknownVerb  Code = "unknown_verb" // no such verb
	Unsupported  Code = "unsupported"  // the verb is known and not carried out by this version
	Unauthorized Code = "unauthorized" // the peer's user or token is wrong
	Mismatch     Code = "protocol"     // the peer speaks another version
	TooMany      Code = "too_many"     // connections, or subscriptions of one
	Taken        Code = "taken"        // another attachment types
	Failed       Code = "failed"       // the supervisor tried and couldn't
)

// An Error is a supervisor's answer to what it doesn't carry out.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Fault makes an Error with a formatted message.
func Fault(code Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Encode returns v's line. Bytes that aren't UTF-8 (in the text of an error)
// are replaced, since no event may be lost for them.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// DecodeRequest is strict: a field that we don't know may be the one that
// matters to the client.
func DecodeRequest(line []byte) (Request, *Error) {
	var r Request
	if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
		// The number, where there is one, lets the client know what failed.
		var only struct {
			ID int64 `json:"id"`
		}
		if json.Unmarshal(line, &only) == nil {
			r = Request{ID: only.ID}
		} else {
			r = Request{}
		}
		return r, &Error{Malformed, "not a request: " + err.Error()}
	}
	return r, nil
}

// DecodeReply is strict in form and lenient in content: a newer supervisor may
// tell more than we understand.
func DecodeReply(line []byte) (Reply, error) {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return Reply{}, fmt.Errorf("not a reply: %w", err)
	}
	return r, nil
}

// Failure is err as it is sent.
func Failure(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Failed, err.Error()}
}
