//go:build linux

package main

import (
	"paddock/cmd/paddock/internal/desk"
)

// A paper house plans nothing; scripts ask real ones.
type paperPlans struct{ desk.Planner }
