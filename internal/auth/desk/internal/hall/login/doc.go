// Package login lets persons in and out: by password, by a link that works once, and by
// the session that either of them begins.
//
// # Limits
//
// Who has an account is package people's to say; passkeys, other providers of identity
// and API tokens have packages of their own.
package login

import "paddock/internal/auth/desk/internal/hall"

// A Desk lets persons in.
type Desk struct{ hall *hall.Hall }

// New returns a Desk.
func New(h *hall.Hall) *Desk { return &Desk{h} }
