package marks

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
)

// mostMarks bounds what is read of a file of marks: enough for 16 TiB of output.
const mostMarks = 1 << 30

// Marked says whether the file that says where the lines of a sealed stream are
// is what it is to be. Readers do without one that isn't.
func Marked(dir string, s paddock.Stream) (bool, error) {
	right, there, err := compareMarks(dir, s)
	return err == nil && bytes.Equal(right, there), err
}

// Remark makes that file again, where it isn't what it is to be, and says whether
// it did. What is in its place is never followed.
func Remark(dir string, s paddock.Stream) (made bool, err error) {
	right, there, err := compareMarks(dir, s)
	if err != nil || bytes.Equal(right, there) {
		return false, err
	}
	name := filepath.Join(dir, Name(string(s)))
	if len(right) == 0 {
		return true, os.Remove(name)
	}
	temp := filepath.Join(dir, ".new-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return false, err
	}
	_, err = f.Write(right)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(temp))
	}
	return true, nil
}

// compareMarks returns the marks that a stream is to have, and those it has.
func compareMarks(dir string, s paddock.Stream) (right, there []byte, err error) {
	if s != paddock.Stdout && s != paddock.Stderr {
		return nil, nil, fmt.Errorf("there are no marks of %q", s)
	}
	f, err := plain(filepath.Join(dir, string(s)))
	if err == nil {
		right, err = Of(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	f, err = plain(filepath.Join(dir, Name(string(s))))
	if errors.Is(err, fs.ErrNotExist) {
		return right, nil, nil
	}
	if err != nil {
		return right, []byte("not a file"), nil //nolint:nilerr // a link or a pipe in its place is a mark that doesn't fit
	}
	there, err = io.ReadAll(io.LimitReader(f, mostMarks))
	return right, there, errors.Join(err, f.Close())
}

// plain opens a regular file, without following a link or waiting for a pipe.
func plain(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s isn't a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDONLY|noFollow, 0)
}
