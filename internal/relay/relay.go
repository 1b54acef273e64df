// Package relay lets a server ask a machine about the runs that it carries out, over a
// connection that the machine made.
//
// A worker dials out, shows its credential and asks for an upgrade. From then on the
// connection speaks HTTP/2 the other way round: the worker serves and the server asks, as
// many questions at once as there are, each with its own flow control. What can be asked
// is a few verbs of the house, about runs that users of a server started, in the name of
// the user who asks, and about what persons are asked of them: a machine shows nothing of
// its own operator's runs, and no value of a secret. The worker's house decides who may see
// what, as for every other door. What a worker asks its servers is said in package asking.
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
	wants  = "wants"
	attest = "attest"
)

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

// killTime is how long a run may take to end that is asked to, and attestTime how long a
// statement: a worker's whole journal is read for it.
const (
	killTime   = 45 * time.Second
	attestTime = time.Minute
)

// away is the refusal of what can't be asked now.
func away(worker string) error {
	return paddock.Refused(paddock.Away, "The machine that has this run, worker %.80s, isn't connected at the moment.", worker)
}
