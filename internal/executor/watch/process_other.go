//go:build !linux

package watch

import (
	"errors"

	"paddock"
)

// KillVerified has nothing to end where nothing is run.
func KillVerified(paddock.Process) error { return errors.ErrUnsupported }
