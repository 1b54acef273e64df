// Package reserve keeps room on the disk for how a run ends: it is taken before anybody
// sees the run, and given back when the end is written down, so that what is seen can be
// settled on a disk that has become full since.
//
// # Limits
//
// What is given back is anybody's: who fills the disk between that and the writing of the
// outcome can still be in its way. Names in directories aren't reserved, nor inodes. Where
// the file system has no way to set room aside zeros are written, which one that compresses
// them, or copies on write, doesn't count as room.
package reserve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"paddock/internal/rundir/record/durable"
)

// Name is that of the file in the run's directory which holds the room.
const Name = "reserve"

// size is enough for an outcome and the directory entries it needs.
const size = 64 << 10

// Take takes the room in the run's directory dir, which has none. With an error it has none
// still.
func Take(dir string) error {
	path := filepath.Join(dir, Name)
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|durable.NoFollow, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(allot(f, size), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Free gives the room back, if there is any.
func Free(dir string) error {
	err := os.Remove(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was given back, or the run is of a release that took none so early
	}
	return err
}

func zeros(f *os.File, size int64) error {
	_, err := f.Write(make([]byte, size))
	return err
}
