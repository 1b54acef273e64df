//go:build !linux

package contain

import (
	"errors"
	"os"
)

// Supervisors fails: there are no cgroups on this system.
func Supervisors() (*os.File, error) { return nil, errors.ErrUnsupported }
