package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// SweepNew removes files that somebody was about to place in dir and would have
// by now.
func SweepNew(dir string, after time.Duration) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix) {
			continue
		}
		if info, statErr := e.Info(); statErr == nil && time.Since(info.ModTime()) > after {
			err = errors.Join(err, Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Sweep removes a temporary directory that nobody has locked. One without a lock file
// may be just being made: by making the file we take it from its maker, who
// finds it there and begins again. What leads to it is taken away by unlink first.
func Sweep(path string, unlink func(path string) error) error {
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE|NoFollow|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // published or abandoned meanwhile; a stray file is not ours to remove
	}
	if err != nil {
		return err
	}
	got, err := Lock(f)
	if err == nil && got {
		if err = unlink(path); err == nil {
			err = os.RemoveAll(path)
		}
	}
	return errors.Join(err, f.Close())
}

// SweepAll does so with the entries of the directory at tmp.
func SweepAll(tmp string, entries []fs.DirEntry, unlink func(path string) error) error {
	var faults []error
	for _, e := range entries {
		if err := Sweep(filepath.Join(tmp, e.Name()), unlink); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
