// Package control is the conversation with a run's supervisor: one JSON object
// per line over a Unix socket, versioned, used both on the run's control socket
// and on the connection by which a supervisor is handed its job.
//
// On the control socket a client first says hello with the protocol's version
// and the run's token, and is answered; the hand-over connection needs none.
// Then each line of the client is a request with a number, which is answered
// by one line with the same number; after a subscribe, events come in between.
//
//	→ {"verb":"hello","protocol":1,"token":"…"}
//	← {"ok":true,"protocol":1}
//	→ {"id":1,"verb":"kill","kill":{"kind":"kill","signal":"TERM","by":"…","why":"…"}}
//	← {"id":1,"ok":true}
//	→ {"id":2,"verb":"subscribe"}
//	← {"id":2,"ok":true}
//	← {"event":{"kind":"output","stdout":12}}
//
// The verbs are status, kill, renew, stdin (answered "unsupported") and
// subscribe. What a peer doesn't understand it answers with an error.
//
// # Limits
//
// The package carries words. It doesn't know what a supervisor does with them.
// An event is a hint that may be merged with later ones: the run's directory is
// the truth. Linux only.
package control

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
	maxLine  = 1 << 20 // of a received line, without its end
	maxHello = 4 << 10 // of the line of a peer that isn't known yet
)

// The verbs of the wire.
const (
	verbHello     = "hello"
	verbStatus    = "status"
	verbKill      = "kill"
	verbRenew     = "renew"
	verbStdin     = "stdin"
	verbSubscribe = "subscribe"
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

// check refuses what no supervisor could carry out.
func (k Kill) check() error {
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
	Error   string           `json:"error,omitempty"`
}

// A Handler does what clients ask. Its methods are called concurrently and
// shouldn't take long.
type Handler interface {
	Status() Status
	Kill(Kill) error
	Renew() error
	// Subscribe returns events from now on; what has happened already, started
	// or settled, is told first. The channel is read without delay until cancel
	// is called, once; closing it says that no more events come.
	Subscribe() (events <-chan Event, cancel func())
}

// A request is a line of a client.
type request struct {
	ID       int64  `json:"id,omitempty"`
	Verb     string `json:"verb"`
	Protocol int    `json:"protocol,omitempty"` // hello
	Token    string `json:"token,omitempty"`    // hello
	Kill     *Kill  `json:"kill,omitempty"`     // kill
}

// A reply is a line of a supervisor.
type reply struct {
	ID       int64   `json:"id,omitempty"`
	OK       bool    `json:"ok,omitempty"`
	Protocol int     `json:"protocol,omitempty"` // to hello
	Status   *Status `json:"status,omitempty"`   // to status
	Event    *Event  `json:"event,omitempty"`    // to nothing
	Error    *Error  `json:"error,omitempty"`
}

// A Code says why a request wasn't carried out.
type Code string

// The codes of the wire.
const (
	Malformed    Code = "malformed"    // the line isn't a request
	UnknownVerb  Code = "unknown_verb" // no such verb
	Unsupported  Code = "unsupported"  // the verb is known and not carried out by this version
	Unauthorized Code = "unauthorized" // the peer's user or token is wrong
	Mismatch     Code = "protocol"     // the peer speaks another version
	TooMany      Code = "too_many"     // connections, or subscriptions of one
	Failed       Code = "failed"       // the supervisor tried and couldn't
)

// An Error is a supervisor's answer to what it doesn't carry out.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// encode returns v's line. Bytes that aren't UTF-8 (in the text of an error)
// are replaced, since no event may be lost for them.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// decodeRequest is strict: a field that we don't know may be the one that
// matters to the client.
func decodeRequest(line []byte) (request, *Error) {
	var r request
	if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
		// The number, where there is one, lets the client know what failed.
		var only struct {
			ID int64 `json:"id"`
		}
		if json.Unmarshal(line, &only) == nil {
			r = request{ID: only.ID}
		} else {
			r = request{}
		}
		return r, &Error{Malformed, "not a request: " + err.Error()}
	}
	return r, nil
}

// decodeReply is strict in form and lenient in content: a newer supervisor may
// tell more than we understand.
func decodeReply(line []byte) (reply, error) {
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, fmt.Errorf("not a reply: %w", err)
	}
	return r, nil
}

// failure is err as it is sent.
func failure(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Failed, err.Error()}
}
