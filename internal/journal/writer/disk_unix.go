//go:build unix

package writer

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncDir makes the names in a directory durable.
func syncDir(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
