//go:build !linux

package noexec

import (
	"errors"
	"fmt"
)

// GiveUp refuses with [errors.ErrUnsupported].
func GiveUp() error {
	return fmt.Errorf("the right to start programs can't be given up on this system: %w", errors.ErrUnsupported)
}
