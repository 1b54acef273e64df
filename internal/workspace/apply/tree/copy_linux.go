package tree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree/change"
)

// ErrTooLarge is the error of a copy that would take more room than it may.
var ErrTooLarge = errors.New("too much to copy")

// Copy puts a copy of what a walk of r found into to, which is empty. Where the
// file system can share blocks it does. It returns how many special files there
// were, of which none is made.
func (r *Root) Copy(seen Seen, to *Root, most int64) (left int, err error) {
	if len(seen.Unreadable) > 0 {
		return 0, fmt.Errorf("%s can't be read", seen.Unreadable[0])
	}
	var total int64
	for _, e := range seen.Entries {
		if total += e.Size; total > most {
			return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
	}
	for _, e := range seen.Entries {
		switch {
		case e.Directory():
			err = to.makeDir(e.Path)
		case e.Regular():
			err = r.copyFile(e, to)
		case e.Link():
			err = to.link(e)
		default:
			left++
		}
		if err != nil {
			return left, fmt.Errorf("copy %s: %w", e.Path, err)
		}
	}
	// Directories last, since what is made in them changes their time, and the
	// innermost first, since their permissions may keep us out.
	for _, e := range slices.Backward(seen.Entries) {
		if e.Directory() {
			if err := to.dress(e); err != nil {
				return left, fmt.Errorf("copy %s: %w", e.Path, err)
			}
		}
	}
	return left, nil
}

func (r *Root) makeDir(name string) error {
	parent, err := r.Parent(name)
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Mkdirat(int(parent.Fd()), path.Base(name), 0o700)
}

func (r *Root) link(e change.Entry) error {
	parent, err := r.Parent(e.Path)
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Symlinkat(e.Target, int(parent.Fd()), path.Base(e.Path))
}

func (r *Root) copyFile(e change.Entry, to *Root) error {
	from, err := r.File(e.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // gone since it was seen; then the start of the copy lacks it too
	}
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := to.OpenAt(e.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(Fill(into, from, e), into.Close())
}

// Fill gives the new file into the content of from and what e says of it, but
// for the bits that set ids and the owner.
func Fill(into, from *os.File, e change.Entry) error {
	if err := unix.IoctlFileClone(int(into.Fd()), int(from.Fd())); err != nil {
		if _, err := io.Copy(into, from); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(int(into.Fd()), e.Mode&0o777); err != nil {
		return err
	}
	return stamp(into, e)
}

// stamp sets the time of change, by which build tools know what is new.
func stamp(f *os.File, e change.Entry) error {
	when := unix.NsecToTimespec(e.Mtime)
	return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), []unix.Timespec{when, when}, 0)
}

func (r *Root) dress(e change.Entry) error {
	dir, err := r.OpenAt(e.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(stamp(dir, e), unix.Fchmod(int(dir.Fd()), e.Mode&0o1777), dir.Close())
}
