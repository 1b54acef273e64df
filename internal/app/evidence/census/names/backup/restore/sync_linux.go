package restore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes everything in the file system of a directory durable: one wait for all
// files instead of one for each.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
