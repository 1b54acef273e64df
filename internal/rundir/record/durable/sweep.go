package durable

import (
	"errors"
	"io"
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
// finds it there and begins again. What leads to it, and what there is of it elsewhere, is
// taken away by unlink first, which is told its mark.
func Sweep(path string, unlink func(path, mark string) error) error {
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE|NoFollow|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // published or abandoned meanwhile; a stray file is not ours to remove
	}
	if err != nil {
		return err
	}
	got, err := Lock(f)
	if err == nil && got {
		mark, readErr := io.ReadAll(io.LimitReader(f, mostMark))
		if err = errors.Join(readErr, unlink(path, string(mark))); err == nil {
			err = os.RemoveAll(path)
		}
	}
	return errors.Join(err, f.Close())
}

// mostMark is more than the kernel takes for a path.
const mostMark = 16 << 10

// Mark writes down in the lock of a temporary directory in which place there may be more of
// what is being made. It needn't outlive the machine's fall more than that does.
func Mark(lock *os.File, place string) error {
	_, err := lock.WriteString(place)
	return err
}

// SweepAll does so with the entries of the directory at tmp.
func SweepAll(tmp string, entries []fs.DirEntry, unlink func(path, mark string) error) error {
	var faults []error
	for _, e := range entries {
		if err := Sweep(filepath.Join(tmp, e.Name()), unlink); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
