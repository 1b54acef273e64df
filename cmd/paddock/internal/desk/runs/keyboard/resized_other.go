//go:build !unix

package keyboard

import (
	"context"
	"os"
)

// resized tells of nothing: no signal does here.
func resized(context.Context) <-chan os.Signal { return nil }
