package place

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree"
)

// Make makes the directory name of owner below root, and owner's if it isn't there. One
// that is there already is fs.ErrExist.
func Make(root, owner, name string) error {
	if err := errors.Join(wrong(owner), wrong(name)); err != nil {
		return err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer base.Close()
	if err := unix.Mkdirat(int(base.Fd()), owner, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return &os.PathError{Op: "mkdir", Path: owner, Err: err}
	}
	dir, err := enter(base, owner)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Mkdirat(int(dir.Fd()), name, 0o700); err != nil {
		return &os.PathError{Op: "mkdir", Path: owner + "/" + name, Err: err}
	}
	return nil
}

// Remove removes the directory with all that is in it. It is gone from its name at once,
// and called as until it is gone altogether; one that isn't there is no error.
func Remove(root, owner, name, as string) error {
	if err := errors.Join(wrong(owner), wrong(name), wrong(as)); err != nil {
		return err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer base.Close()
	dir, err := enter(base, owner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Renameat2(int(dir.Fd()), name, int(dir.Fd()), as, unix.RENAME_NOREPLACE); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rename", Path: owner + "/" + name, Err: err}
	}
	return tree.Remove("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + as)
}

// RemoveIn is Remove for the directory what in the directory name of owner. One that isn't
// there is fs.ErrNotExist, unless some of it was left by a removal that was ended.
func RemoveIn(root, owner, name, what, as string) error {
	if err := errors.Join(wrong(owner), wrong(name), wrong(what), wrong(as)); err != nil {
		return err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer base.Close()
	dir, err := enter(base, owner+"/"+name)
	if err != nil {
		return err
	}
	defer dir.Close()
	at := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/"
	if err := tree.Remove(at + as); err != nil { // of a removal that was ended
		return err
	}
	if err := unix.Renameat2(int(dir.Fd()), what, int(dir.Fd()), as, unix.RENAME_NOREPLACE); err != nil {
		return &os.PathError{Op: "rename", Path: owner + "/" + name + "/" + what, Err: err}
	}
	return tree.Remove(at + as)
}

// Holds reports whether the directory name of owner below root has a directory called what
// in it. A link is none.
func Holds(root, owner, name, what string) (bool, error) {
	if err := errors.Join(wrong(owner), wrong(name), wrong(what)); err != nil {
		return false, err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, err
	}
	defer base.Close()
	dir, err := enter(base, owner+"/"+name+"/"+what)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, dir.Close()
}

func enter(base *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat2(int(base.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
