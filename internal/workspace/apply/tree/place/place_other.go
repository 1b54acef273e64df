//go:build !linux

package place

import (
	"context"
	"errors"
	"time"
)

// Make can't be done here.
func Make(_, owner, name string) error {
	return errors.Join(wrong(owner), wrong(name), errors.ErrUnsupported)
}

// RemoveIn can't be done here.
func RemoveIn(_ context.Context, _, in, what, as string) error {
	return errors.Join(astray(in), wrong(what), wrong(as), errors.ErrUnsupported)
}

// Holds can't be known here.
func Holds(_, in, what string) (bool, error) {
	return false, errors.Join(astray(in), wrong(what), errors.ErrUnsupported)
}

// Remove can't be done here.
func Remove(_ context.Context, _, owner, name, as string) error {
	return errors.Join(wrong(owner), wrong(name), wrong(as), errors.ErrUnsupported)
}

// A Dir is a directory, and when it was made.
type Dir struct {
	Name string
	Made time.Time
}

// Holders can't be known here.
func Holders(_, in, what string) ([]Dir, bool, error) {
	return nil, false, errors.Join(astray(in), wrong(what), errors.ErrUnsupported)
}
