// Package relay lets a server ask a machine about the runs that it carries out, over a
// connection that the machine made.
//
// A worker dials out, shows its credential and asks for an upgrade. From then on the
// connection speaks HTTP/2 the other way round: the worker serves and the server asks, as
// many questions at once as there are, each with its own flow control. What can be asked
// is a few verbs of the house, about runs that users of a server started, in the name of
// the user who asks, and about what persons are asked of them: a machine shows nothing of its own operator's runs, and no value of a
// secret. The worker's house decides who may see what, as for every other door.
//
// A [Hub] has the newest connection of each worker. A question that finds none waits a
// little for one and then is refused as unreachable; one whose connection breaks is asked
// again over the next, since every verb here may be asked twice.
// docs/design/0075-the-other-way-round.md has the reasons.
//
// # Limits
//
// The package knows no rows: which worker has a run, and whose credential is shown, is
// known by those who call. It renews no leases: a worker's beat is in the database alone.
// Proxies on the way must let upgrades of HTTP/1.1 pass.
package relay

import (
	"context"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/relay/ballot"
)

// House is what can be asked. *app.App has it.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	ballot.House
	Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error
}

// Protocol is what the connection is upgraded to.
const Protocol = "paddock-relay/1"

// Path is where a server takes workers in.
const Path = "/api/v1/workers/connect"

// The verbs.
const (
	look   = "look"
	status = "status"
	wait   = "wait"
	output = "output"
	detail = "detail"
	kill   = "kill"
	head   = "head"
	types  = "type"
)

const prefix = "/v1/"

// A question is the body of every request.
type question struct {
	Principal paddock.Principal    `json:"principal"`
	Run       paddock.RunID        `json:"run"`
	Page      *paddock.PageRequest `json:"page,omitempty"`
	Wait      paddock.Duration     `json:"wait_ms,omitempty"`
	Kill      *app.KillRequest     `json:"kill,omitempty"`
	Approval  *ballot.Question     `json:"approval,omitempty"`
	Typing    *paddock.Typing      `json:"typing,omitempty"`
}

// A since is the body of the question how far the journal has come.
type since struct {
	From int64 `json:"from"`
}

// Bounds of what either side takes from the other. They hold before anything is parsed.
const (
	mostQuestion = 64 << 10
	mostAnswer   = 16 << 20
	mostHeader   = 16 << 10
	mostStreams  = 1024
	frameBytes   = 64 << 10
)

// How long things may take.
const (
	// quiet is after how long without a word from the other side it is asked for one,
	// and pong how long it may take to give it.
	quiet     = 5 * time.Second
	pong      = 5 * time.Second
	greetTime = 10 * time.Second // for dialing, the upgrade and the first question
	askTime   = 20 * time.Second // for an answer that isn't waited for
	killTime  = 45 * time.Second // for a run to end that is asked to
)

// heartbeats are how either side finds out that the other is gone.
func heartbeats() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: mostStreams, StrictMaxConcurrentRequests: true, MaxReadFrameSize: frameBytes,
		SendPingTimeout: quiet, PingTimeout: pong, WriteByteTimeout: quiet + pong,
	}
}

func onlyHTTP2() *http.Protocols {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true) // the connection below is TLS, or on loopback
	return &p
}

// away is the refusal of what can't be asked now.
func away(worker string) error {
	return paddock.Refused(paddock.Away, "The machine that has this run, worker %.80s, isn't connected at the moment.", worker)
}
