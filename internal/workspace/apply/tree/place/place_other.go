//go:build !linux

package place

import "errors"

// Make can't be done here.
func Make(_, owner, name string) error {
	return errors.Join(wrong(owner), wrong(name), errors.ErrUnsupported)
}

// RemoveIn can't be done here.
func RemoveIn(_, owner, name, what, as string) error {
	return errors.Join(wrong(owner), wrong(name), wrong(what), wrong(as), errors.ErrUnsupported)
}

// Holds can't be known here.
func Holds(_, owner, name, what string) (bool, error) {
	return false, errors.Join(wrong(owner), wrong(name), wrong(what), errors.ErrUnsupported)
}

// Remove can't be done here.
func Remove(_, owner, name, as string) error {
	return errors.Join(wrong(owner), wrong(name), wrong(as), errors.ErrUnsupported)
}
