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
// The verbs are status, kill, renew, stdin (of runs with a terminal; others answer
// "unsupported") and subscribe. What a peer doesn't understand it answers with an error.
//
// # Limits
//
// The package carries words. It doesn't know what a supervisor does with them.
// An event is a hint that may be merged with later ones: the run's directory is
// the truth. Linux only.
package control

import (
	"net"
	"os"
	"time"

	"paddock/internal/control/handover"
	"paddock/internal/control/wire"
)

// Protocol is the version of the conversation that this code speaks.
const Protocol = wire.Protocol

// The words of the conversation.
type (
	// A Kill says how a run is to end and why.
	Kill = wire.Kill
	// A Status is what a supervisor says of its run.
	Status = wire.Status
	// A Typed is what is asked of a run's terminal.
	Typed = wire.Typed
	// An Event tells subscribers of a change.
	Event = wire.Event
	// An Error is a supervisor's answer to what it doesn't carry out; package
	// wire lists its codes.
	Error = wire.Error
)

// The kinds of events.
const (
	EventStarted = wire.EventStarted
	EventOutput  = wire.EventOutput
	EventSettled = wire.EventSettled
	EventFailed  = wire.EventFailed
)

// A Handler does what clients ask. Its methods are called concurrently and
// shouldn't take long.
type Handler interface {
	Status() Status
	Kill(Kill) error
	// Renew lets a leased run go on until that time of the boot clock. Zero, and a
	// time before the one that holds, change nothing.
	Renew(until time.Duration) error
	// Subscribe returns events from now on; what has happened already, started
	// or settled, is told first. The channel is read without delay until cancel
	// is called, once; closing it says that no more events come.
	Subscribe() (events <-chan Event, cancel func())
}

// A Typist is a Handler whose run may have a terminal.
type Typist interface {
	// Type does all that is asked or nothing.
	Type(Typed) error
}

// SendJob hands a job and open files to a supervisor. The caller still owns its
// files. Once it returns nil all is handed over, though perhaps not yet received.
func SendJob(conn *net.UnixConn, job []byte, files []*os.File) error {
	return handover.Send(conn, job, files)
}

// ReceiveJob waits for what SendJob sends. The caller owns the files, which are
// close-on-exec, and judges their number. io.EOF means that the maker ended
// before it handed anything over.
func ReceiveJob(conn *net.UnixConn) (job []byte, files []*os.File, err error) {
	return handover.Receive(conn)
}

// Rouse tells a supervisor that waits that a job may come soon. It waits for nothing.
func Rouse(conn *net.UnixConn) { handover.Rouse(conn) }

// AwaitJob is ReceiveJob for a supervisor that waits, which calls roused each time that it
// is told by Rouse.
func AwaitJob(conn *net.UnixConn, roused func()) (job []byte, files []*os.File, err error) {
	return handover.Await(conn, roused)
}

// HasJob reports whether a job can be received on conn, or its end is known,
// so that ReceiveJob wouldn't wait.
func HasJob(conn *net.UnixConn) bool { return handover.Ready(conn) }
