package place

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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
// and called as until it is gone altogether; one that isn't there is no error. When ctx
// ends, so does the removal, with its error, and removing again goes on.
func Remove(ctx context.Context, root, owner, name, as string) error {
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
	return tree.RemoveWithin(ctx, "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/"+as)
}

// RemoveIn is Remove for the directory what in the directory in, a path below root. One that isn't
// there is fs.ErrNotExist, unless some of it was left by a removal that was ended.
func RemoveIn(ctx context.Context, root, in, what, as string) error {
	if err := errors.Join(astray(in), wrong(what), wrong(as)); err != nil {
		return err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer base.Close()
	dir, err := enter(base, in)
	if err != nil {
		return err
	}
	defer dir.Close()
	at := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + as
	_, err = os.Lstat(at)
	begun := err == nil // a removal that was ended
	if err := tree.RemoveWithin(ctx, at); err != nil {
		return err
	}
	err = unix.Renameat2(int(dir.Fd()), what, int(dir.Fd()), as, unix.RENAME_NOREPLACE)
	switch {
	case begun && errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &os.PathError{Op: "rename", Path: in + "/" + what, Err: err}
	}
	return tree.RemoveWithin(ctx, at)
}

// mostNames are those of a directory that are looked at.
const mostNames = 10_000

// A Dir is a directory, and when it was made as far as that can be told.
type Dir struct {
	Name string
	Made time.Time
}

// Holders are the directories in the directory in, a path below root, that have a directory called
// what in them, in order; links are none. More says that there are too many names to look
// at all.
func Holders(root, in, what string) (all []Dir, more bool, err error) {
	if err := errors.Join(astray(in), wrong(what)); err != nil {
		return nil, false, err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false, err
	}
	defer base.Close()
	dir, err := enter(base, in)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	list, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())))
	if err != nil {
		return nil, false, err
	}
	defer list.Close()
	names, err := list.Readdirnames(mostNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	more = len(names) > mostNames
	for _, n := range names[:min(len(names), mostNames)] {
		var stat unix.Statx_t
		held, err := enter(dir, n+"/"+what)
		if err != nil {
			continue // no directory, without it, or closed to us
		}
		err = unix.Statx(int(held.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME|unix.STATX_MTIME, &stat)
		if err := errors.Join(err, held.Close()); err != nil {
			return nil, more, err
		}
		made := stat.Btime
		if stat.Mask&unix.STATX_BTIME == 0 {
			made = stat.Mtime
		}
		all = append(all, Dir{n, time.Unix(made.Sec, int64(made.Nsec))})
	}
	slices.SortFunc(all, func(a, b Dir) int { return strings.Compare(a.Name, b.Name) })
	return all, more, nil
}

// Holds reports whether the directory in, a path below root, has a directory called what
// in it. A link is none.
func Holds(root, in, what string) (bool, error) {
	if err := errors.Join(astray(in), wrong(what)); err != nil {
		return false, err
	}
	base, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, err
	}
	defer base.Close()
	dir, err := enter(base, in+"/"+what)
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
