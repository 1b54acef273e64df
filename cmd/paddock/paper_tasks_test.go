//go:build linux

package main

import (
	"paddock/internal/app/plans"
)

// A paper house plans nothing; scripts ask real ones.
type paperPlans struct{ plans.All }
