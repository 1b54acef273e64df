package tree

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree/change"
)

// Bounds are how much may still be copied where nothing can be renamed.
type Bounds struct {
	Bytes int64
	Files int
}

// Move moves the entry base of r to name in to, where nothing may be. Between two
// file systems it is copied first and then removed; owners stay where we are root.
// A crash leaves it in both places, or a copy by another name.
func (r *Root) Move(base string, to *Root, name string, most *Bounds) error {
	err := r.rename(base, to, name)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	// Between two file systems the kernel doesn't say whether it may be removed.
	if err := unix.Faccessat(int(r.dir.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "move", Path: base, Err: err}
	}
	temp := ".paddock-moving-" + rand.Text()
	err = r.copyOne(base, to, temp, most)
	if err == nil {
		err = to.rename(temp, to, name)
	}
	if err != nil {
		return errors.Join(err, RemoveAt(to.dir, temp))
	}
	return RemoveAt(r.dir, base)
}

func (r *Root) rename(base string, to *Root, name string) error {
	err := unix.Renameat2(int(r.dir.Fd()), base, int(to.dir.Fd()), name, unix.RENAME_NOREPLACE)
	if err != nil {
		return &os.PathError{Op: "move", Path: base, Err: err}
	}
	return nil
}

func (r *Root) copyOne(base string, to *Root, name string, most *Bounds) error {
	e, err := statAt(r.dir, base, base)
	if err != nil {
		return err
	}
	switch {
	case e.Link():
		err = unix.Symlinkat(e.Target, int(to.dir.Fd()), name)
	case e.Directory():
		return r.copyTree(e, to, name, most)
	case !e.Regular():
		return errors.New("it is no file, directory or link, which can't be copied")
	case e.Size > most.Bytes:
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, e.Size)
	default:
		most.Bytes -= e.Size
		err = r.fillNew(e, to, name)
	}
	return errors.Join(err, to.own(name, e))
}

func (r *Root) fillNew(e change.Entry, to *Root, name string) error {
	if err := r.permit(e.Path, e.Mode, 0o400); err != nil {
		return err
	}
	from, err := r.File(e.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := to.OpenAt(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(Fill(into, from, e), into.Close())
}

func (r *Root) copyTree(e change.Entry, to *Root, name string, most *Bounds) error {
	from, err := r.Sub(e.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	seen, err := from.permitted(most.Files)
	if err != nil {
		return err
	}
	if err := unix.Mkdirat(int(to.dir.Fd()), name, 0o700); err != nil {
		return err
	}
	copied, err := to.Sub(name)
	if err != nil {
		return err
	}
	defer copied.Close()
	if _, err := from.Copy(seen, copied, most.Bytes); err != nil {
		return err
	}
	for _, inside := range seen.Entries {
		most.Bytes -= inside.Size
		most.Files--
		if inside.Special() {
			continue // of which there is no copy
		}
		if err := copied.own(inside.Path, inside); err != nil {
			return err
		}
	}
	e.Path = name
	return errors.Join(to.own(name, e), to.dress(e))
}

// permitted is Walk for a tree that is going to be removed: what keeps its owner
// out is opened.
func (r *Root) permitted(most int) (Seen, error) {
	for {
		seen, err := r.Walk(most, false)
		if err != nil || len(seen.Unreadable) == 0 {
			for i := range seen.Entries {
				if e := seen.Entries[i]; err == nil && e.Regular() {
					err = r.permit(e.Path, e.Mode, 0o400)
				}
			}
			return seen, err
		}
		for _, name := range seen.Unreadable {
			if err := r.permit(name, 0, 0o700); err != nil {
				return seen, err
			}
		}
	}
}

// permit gives the owner of what is at name the permissions that mode lacks.
func (r *Root) permit(name string, mode, need uint32) error {
	if mode&need == need || os.Geteuid() == 0 {
		return nil
	}
	f, err := r.OpenAt(name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.FileMode(mode&0o777|need)), f.Close())
}

// own gives what is at name the owner that e has, where we are root.
func (r *Root) own(name string, e change.Entry) error {
	if os.Geteuid() != 0 {
		return nil
	}
	parent, err := r.Parent(name)
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Fchownat(int(parent.Fd()), path.Base(name), int(e.UID), int(e.GID), unix.AT_SYMLINK_NOFOLLOW)
}
