//go:build !linux

package lifecycle

import (
	"errors"
	"os"
)

// EndCgroup has nothing to end where there are no cgroups.
func EndCgroup(string) error { return nil }

// Supervisors fails: there are no cgroups on this system.
func Supervisors() (*os.File, error) { return nil, errors.ErrUnsupported }
