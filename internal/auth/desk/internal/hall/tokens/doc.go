// Package tokens makes API tokens and says whose they are.
//
// # Limits
//
// A token is what it says: who has it is its owner, as far as its scopes go, until it is
// revoked. It proves no second factor, so it can do nothing that wants one.
package tokens

import "paddock/internal/auth/desk/internal/hall"

// A Desk makes tokens and believes them.
type Desk struct{ hall *hall.Hall }

// New returns a Desk.
func New(h *hall.Hall) *Desk { return &Desk{h} }
