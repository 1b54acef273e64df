package durable

import (
	"context"
	"os"
	"time"
)

// WaitLock takes an exclusive lock, or returns ctx's error when that ends before.
// It asks again and again, since a thread that waits in the kernel for a lock
// can't be called back.
func WaitLock(ctx context.Context, f *os.File) error {
	const shortest, longest = 200 * time.Microsecond, 5 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if got, err := Lock(f); err != nil || got {
			return err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}
