//go:build !linux

package doctor

import (
	"context"

	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/policy"
)

// pins says nothing: nothing that is pinned runs here.
func pins(context.Context, string) diagnosis.Fact {
	return diagnosis.Fact{Name: "pins", Text: "executables are held to their digests on Linux, where they run"}
}

func (d commands) named(context.Context, *policy.Policy, bool) ([]diagnosis.Fact, error) {
	return nil, nil
}
