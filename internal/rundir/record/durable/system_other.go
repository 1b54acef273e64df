//go:build !unix

package durable

import (
	"errors"
	"io"
	"os"
)

// Nothing is run on these systems in this version, so there is no record that
// could be lost or disputed: what they can't do like the others is left out.

// NoFollow has no meaning here.
const NoFollow = 0

// OpenFile is [os.OpenFile].
func OpenFile(name string, flags int, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flags, mode)
}

// SyncDir does nothing: directories can't be synced here.
func SyncDir(string) error { return nil }

// Lock says yes: without runs nobody competes for them.
func Lock(*os.File) (bool, error) { return true, nil }

// LockShared says so too.
func LockShared(*os.File) (bool, error) { return true, nil }

// Unlock undoes Lock.
func Unlock(*os.File) error { return nil }

// read returns a file's content; of one that is longer than most, more than that.
func read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	return b, errors.Join(err, f.Close())
}
