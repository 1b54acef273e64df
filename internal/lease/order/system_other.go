//go:build !linux

package order

import (
	"errors"
	"os"
)

// Nothing is carried out for a server on these systems in this version.

func lock(*os.File) error { return errors.ErrUnsupported }

func syncData(*os.File) error { return errors.ErrUnsupported }
