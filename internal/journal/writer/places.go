package writer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"paddock/internal/journal"
)

// openLock opens the lock of the journal at dir and makes both if need be.
func openLock(dir string) (*os.File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|journal.Guarded, 0o600)
}

// makeDir makes an owner-only directory; a real one that is there is fine.
func makeDir(name string) error {
	err := os.Mkdir(name, 0o700)
	if err == nil {
		return syncDir(filepath.Dir(name))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(name)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
