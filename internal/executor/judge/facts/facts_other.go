//go:build !linux

package facts

import (
	"context"
	"errors"
	"os"

	"paddock"
	"paddock/internal/policy"
)

// This version runs nothing on this system, so what is found here only serves
// to explain: paths are followed by name, and nothing that is opened is used.

// memory remembers nothing, since nothing is hashed.
type memory struct{}

func (f *Finder) executable(_ context.Context, q Query, _ *Found) (policy.ExecutableFacts, *Launch) {
	_, err := os.Stat(q.Wanted.Executable)
	return policy.ExecutableFacts{Found: err == nil}, nil
}

// Executes returns nothing: nothing is executed here.
func (f *Finder) Executes(context.Context, string, string) ([]string, error) { return nil, nil }

// DigestFile returns nothing: what runs nothing pins nothing.
func (f *Finder) DigestFile(context.Context, string) (paddock.Digest, error) {
	return "", errors.New("executables are pinned on Linux, where they run")
}
