//go:build !linux

package index

import (
	"context"
	"os"
)

// Unmoved says no: it isn't easily told here.
func (all File) Unmoved(context.Context, *os.Root) bool { return false }
