//go:build !linux

package noexec

import "errors"

// GiveUp refuses.
func GiveUp() error {
	return errors.New("the right to start programs can't be given up on this system")
}
