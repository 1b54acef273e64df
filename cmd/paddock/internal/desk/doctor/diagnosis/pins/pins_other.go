//go:build !linux

package pins

import (
	"context"

	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/policy"
)

// Attempt says nothing: nothing that is pinned runs here.
func Attempt(context.Context, string) diagnosis.Fact {
	return diagnosis.Fact{Name: "pins", Text: "executables are held to their digests on Linux, where they run"}
}

// Look finds nothing, for the same reason.
func Look(context.Context, ...*policy.Policy) ([]diagnosis.Fact, error) { return nil, nil }
