package durable

import (
	"context"
	"errors"
	"io/fs"
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

// LockNew makes and locks a new file; nil when a sweeper was there first. It calls
// at when there is a file that isn't locked yet.
func LockNew(name string, at func(string)) (*os.File, error) {
	f, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|NoFollow, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at("lock-made")
	got, err := Lock(f)
	there := false
	if err == nil && got {
		there, err = IsAt(f, name)
	}
	if err != nil || !there {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
