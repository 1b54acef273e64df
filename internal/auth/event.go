package auth

import (
	"context"
	"net/netip"

	"paddock/internal/store"
)

// A Recorder writes down what is about to be done with accounts and credentials. What
// it can't write down isn't done.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// An Action is what an Event tells.
type Action string

// The actions.
const (
	LoggedIn         Action = "login"             // Detail: by what
	LoginRefused     Action = "login-refused"     // by whom isn't known, or isn't proven
	LoggedOut        Action = "logout"            // Detail: the session
	SessionsEnded    Action = "sessions-ended"    // Detail: why
	Proved           Action = "second-factor"     // Detail: by what
	LinkMade         Action = "link-made"         // Detail: its purpose
	UserAdded        Action = "user-added"        // Detail: the role
	UserChanged      Action = "user-changed"      // Detail: what
	PasswordSet      Action = "password-set"      //
	FactorChanged    Action = "factor-changed"    // Detail: which
	Invited          Action = "invited"           // Detail: the role, and whom
	InviteRemoved    Action = "invite-removed"    // Detail: the invitation
	TokenMade        Action = "token-made"        // Detail: its id and scopes
	TokenRevoked     Action = "token-revoked"     // Detail: its id
	WorkerAdded      Action = "worker-added"      // Detail: its id
	WorkerRemoved    Action = "worker-removed"    // Detail: its id
	WorkerChanged    Action = "worker-changed"    // Detail: its id
	WorkspaceMade    Action = "workspace-made"    // Detail: its id
	WorkspaceRemoved Action = "workspace-removed" // Detail: its id
	IdentityBound    Action = "identity-bound"    // Detail: the issuer
	IdentityUnused   Action = "identity-unused"   // Detail: the issuer; nobody had invited it
	Configured       Action = "configured"        // a server starts; Detail: the digest of how it is set up, and what changed of that
)

// An Event is one thing that is done. It never has a secret in it, nor what somebody
// typed as a name who wasn't let in: people type passwords there.
type Event struct {
	What Action
	// By is who does it; empty for the operator of the machine, and for who isn't known.
	By    store.UserID
	Local bool // by the operator of the machine
	// User is to whom it is done.
	User   store.UserID
	From   netip.Addr // of an HTTP client
	Detail string
}
