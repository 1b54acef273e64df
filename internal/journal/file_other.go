//go:build !unix

package journal

import (
	"context"
	"os"
)

// No run is made on these systems in this version, so nothing is journalled.

// Guarded has no meaning here.
const Guarded = 0

// Lock does nothing.
func Lock(context.Context, *os.File, bool) error { return nil }

// Unlock undoes Lock.
func Unlock(*os.File) error { return nil }
