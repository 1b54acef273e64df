// Package people is what admins do with accounts and invitations.
//
// # Limits
//
// Nobody is removed: runs and journals name users for as long as they are kept. Who is
// to be gone is disabled. What runs in the name of who is disabled goes on until it is
// killed.
package people

import "paddock/internal/auth/desk/internal/hall"

// A Desk changes accounts.
type Desk struct{ hall *hall.Hall }

// New returns a Desk.
func New(h *hall.Hall) *Desk { return &Desk{h} }
