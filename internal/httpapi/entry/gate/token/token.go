// Package token is a gate for who has the token of a file that only its owner can read:
// the operator of the machine, who administers what accounts there are.
//
// Only a digest is kept of the token, and it is compared in constant time.
//
// # Limits
//
// It begins no sessions. A new token wants a restart.
package token

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
)

const (
	most   = 256 // bytes that are looked at
	least  = 32
	bearer = "Bearer "
	name   = "admin" // whose runs of the operator are
)

// A Gate lets the operator of the machine in.
type Gate struct{ digest [32]byte }

// New returns a Gate. A token that is too short to be one is refused, and one that looks
// like an account's.
func New(token string) (*Gate, error) {
	if len(token) < least || len(token) > most || auth.Within(token) {
		return nil, paddock.Refused(paddock.InvalidRequest, "The token has %d characters, or looks like an account's; %d to %d of its own are wanted.", len(token), least, most)
	}
	return &Gate{sha256.Sum256([]byte(token))}, nil
}

// Identify believes the token alone.
func (g *Gate) Identify(r *http.Request) (gate.Caller, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		return gate.Caller{}, nil
	}
	given, ok := strings.CutPrefix(header[0], bearer)
	digest := sha256.Sum256([]byte(given[:min(len(given), most+1)]))
	if !ok || len(header) > 1 || subtle.ConstantTimeCompare(digest[:], g.digest[:]) != 1 {
		return gate.Caller{}, paddock.Refused(paddock.Unauthenticated, "The token isn't valid.")
	}
	return gate.Caller{Name: name, Role: gate.Admin, Who: auth.Local()}, nil
}

// Login refuses: the token isn't exchanged for a session.
func (g *Gate) Login(context.Context, gate.From, gate.Proof) (gate.Session, error) {
	return gate.Session{}, paddock.Refused(paddock.Unauthenticated, "The token of a file begins no session.")
}

// Logout has nothing to end.
func (g *Gate) Logout(*http.Request) (*http.Cookie, error) { return nil, nil }
