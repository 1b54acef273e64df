//go:build !linux

package splice

import (
	"errors"
	"os"
)

// Move fails: this system has nothing of the kind.
func Move(_, _ *os.File, _ int) (int, error) { return 0, errors.ErrUnsupported }
