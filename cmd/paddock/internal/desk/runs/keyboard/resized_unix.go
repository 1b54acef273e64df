//go:build unix

package keyboard

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// resized tells of each change of the terminal's size until ctx ends.
func resized(ctx context.Context) <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return c
}
