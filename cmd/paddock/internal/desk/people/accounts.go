package people

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/auth"
	"paddock/internal/client"
	"paddock/internal/dispatch"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/relay"
)

// Accounts are who may log in.
type Accounts interface {
	gate.Gate
	// Vouch adds our word that a second factor was shown to a vote that somebody brings.
	Vouch(who auth.Who, vote []byte) ([]byte, error)
	narrow.Workspaces
	// Routes are those by which accounts are kept.
	Routes(in *entry.Entrance)
	// FirstLink is the code by which the first admin logs in, as long as he has no other
	// way; else it is empty.
	FirstLink(ctx context.Context) (code string, until time.Time, err error)
	Ping(ctx context.Context) error
	// Rows are what is kept of runs and workers, Hints what calls for news of them; nil
	// where nobody else has any.
	Rows() dispatch.Store
	Hints() func(ctx context.Context, heard func(string)) error
	// Through has what is cloned into workspaces started by h.
	Through(h workspaces.House)
	// Forget removes what was over long ago.
	Forget(ctx context.Context) error
	Close() error
}

// A Config says which accounts are opened.
type Config struct {
	State, Postgres string
	Serving         string            // the digest of how a server is set up; empty where nothing is served
	Settings        map[string]string // those of which it is
	Accept          []string          // of that database
	Secure          bool
	Origin          string // how browsers reach us
	Providers       []gate.Provider
	Now             func() time.Time
	Other           gate.Gate
	// Warn is told what is wrong with the journals of workers.
	Warn  func(error)
	Hub   *relay.Hub
	Roots []string // in which workspaces are made
}

// Here is an Opener of the accounts of this machine: they are asked as a server's are,
// by the operator of the machine, and without a network.
func Here(d *desk.Desk, open func(ctx context.Context) (Accounts, error)) Opener {
	return func(ctx context.Context) (*client.Client, func() error, error) {
		all, err := open(ctx)
		if err != nil {
			return nil, nil, err
		}
		in := entry.New(entry.Config{Gate: operator{}, Limits: entry.DefaultLimits(), Now: d.Now})
		all.Routes(in)
		return client.Over(in), all.Close, nil
	}
}

// operator is a gate that only he comes through.
type operator struct{}

func (operator) Identify(*http.Request) (gate.Caller, error) {
	return gate.Caller{Name: "operator", Role: gate.Admin, Who: auth.Local()}, nil
}

var errNoSessions = errors.New("nobody logs in at the command line")

func (operator) Login(context.Context, gate.From, gate.Proof) (gate.Session, error) {
	return gate.Session{}, errNoSessions
}

func (operator) Logout(*http.Request) (*http.Cookie, error) { return nil, errNoSessions }
