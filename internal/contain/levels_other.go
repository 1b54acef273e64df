//go:build !linux

package contain

import (
	"errors"
	"os"

	"paddock"
)

// Levels is empty: this version runs nothing on this system, contained or not.
func Levels() []paddock.Level { return nil }

// Supervisors fails: there are no cgroups on this system.
func Supervisors() (*os.File, error) { return nil, errors.ErrUnsupported }
