// Package tree reads, copies and removes trees of files that others may be
// changing: below one open directory, never through a symbolic link and never
// onto another mount.
//
// # Limits
//
// A walk isn't one moment: what changes meanwhile is seen as it was, as it is,
// or not at all. Extended attributes, access control lists and hard links
// aren't looked at and get lost in a copy.
package tree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree/change"
)

// A Root is an open directory.
type Root struct {
	dir *os.File
}

// Open opens the directory at name, which must not be a symbolic link.
func Open(name string) (*Root, error) {
	f, err := os.OpenFile(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Root{f}, nil
}

// Close closes the directory.
func (r *Root) Close() error { return r.dir.Close() }

// Sync makes everything on the root's file system durable.
func (r *Root) Sync() error { return unix.Syncfs(int(r.dir.Fd())) }

// Self returns what the directory itself is, with the path ".".
func (r *Root) Self() (e change.Entry, dev uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(r.dir.Fd()), &st); err != nil {
		return e, 0, &os.PathError{Op: "stat", Path: r.dir.Name(), Err: err}
	}
	return entryOf(".", &st), st.Dev, nil
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// OpenAt opens what is at name below the root; no link is followed.
func (r *Root) OpenAt(name string, flags int, mode uint32) (*os.File, error) {
	fd, err := r.Descriptor(name, flags, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// longest is a name that the kernel takes at once.
const longest = unix.PathMax - 1

// Descriptor is OpenAt for who closes the descriptor by hand.
func (r *Root) Descriptor(name string, flags int, mode uint32) (int, error) {
	at := int(r.dir.Fd())
	for len(name) > longest {
		cut := strings.LastIndexByte(name[:longest], '/')
		if cut <= 0 {
			break // the kernel says what is wrong
		}
		next, err := openAt(at, name[:cut], unix.O_PATH|unix.O_DIRECTORY, 0)
		if at != int(r.dir.Fd()) {
			err = errors.Join(err, unix.Close(at))
		}
		if err != nil {
			return -1, err
		}
		at, name = next, name[cut+1:]
	}
	fd, err := openAt(at, name, flags, mode)
	if at != int(r.dir.Fd()) {
		err = errors.Join(err, unix.Close(at))
	}
	return fd, err
}

func openAt(at int, name string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: beneath}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode)
	}
	for range 100 {
		fd, err := unix.Openat2(at, name, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue // something above was renamed meanwhile
		}
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return -1, &os.PathError{Op: "open", Path: name, Err: unix.EAGAIN}
}

// Sub returns the directory at name as a root of its own.
func (r *Root) Sub(name string) (*Root, error) {
	f, err := r.OpenAt(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Root{f}, nil
}

// Parent opens the directory that name is in.
func (r *Root) Parent(name string) (*os.File, error) {
	return r.OpenAt(path.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// File opens the regular file at name to read it.
func (r *Root) File(name string) (*os.File, error) {
	f, err := r.OpenAt(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: name, Err: errors.New("it isn't a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Stat returns what is at name; os.ErrNotExist also when what it would be in is
// no directory.
func (r *Root) Stat(name string) (change.Entry, error) {
	parent, err := r.Parent(name)
	if errors.Is(err, unix.ENOTDIR) {
		err = &os.PathError{Op: "stat", Path: name, Err: unix.ENOENT}
	}
	if err != nil {
		return change.Entry{}, err
	}
	defer parent.Close()
	return statAt(parent, path.Base(name), name)
}

func statAt(parent *os.File, base, name string) (change.Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return change.Entry{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	e := entryOf(name, &st)
	if e.Link() {
		buffer := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(parent.Fd()), base, buffer)
		if err != nil {
			return e, &os.PathError{Op: "readlink", Path: name, Err: err}
		}
		e.Target = string(buffer[:n])
	}
	e.Void = st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
	return e, nil
}

func entryOf(name string, st *unix.Stat_t) change.Entry {
	e := change.Entry{Path: name, Mode: st.Mode, UID: st.Uid, GID: st.Gid, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino}
	if e.Directory() {
		e.Size = 0 // the file system's own business
	}
	return e
}

// Seen is what a walk found.
type Seen struct {
	Entries []change.Entry // in the order of change.Compare
	// Unreadable are directories that can't be looked into.
	Unreadable []string
}

// ErrTooMany is the error of a walk that met more than it should look at.
var ErrTooMany = errors.New("too many files")

// Walk lists everything below the root, up to most entries. With layer it reads
// the tree as the upper layer of an overlay.
func (r *Root) Walk(most int, layer bool) (Seen, error) {
	var seen Seen
	marks := map[string]bool{}
	for stack := []string{"."}; len(stack) > 0; {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		dir, err := r.OpenAt(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		switch {
		case err == nil:
		case errors.Is(err, unix.EACCES):
			seen.Unreadable = append(seen.Unreadable, name)
			continue
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			continue // another thing by now
		case errors.Is(err, unix.EXDEV):
			return seen, fmt.Errorf("%s is a mount point", name)
		default:
			return seen, err
		}
		if layer && name != "." {
			if err := mark(dir, name, marks); err != nil {
				return seen, errors.Join(err, dir.Close())
			}
		}
		stack, err = seen.list(dir, name, most, stack)
		if err := errors.Join(err, dir.Close()); err != nil {
			return seen, err
		}
	}
	for i, e := range seen.Entries {
		seen.Entries[i].Void = layer && e.Void
		seen.Entries[i].Opaque = marks[e.Path]
	}
	change.Sort(seen.Entries)
	return seen, nil
}

// list adds what is in one directory and returns the stack with its directories.
func (s *Seen) list(dir *os.File, name string, most int, stack []string) ([]string, error) {
	for {
		names, err := dir.Readdirnames(1024)
		for _, base := range names {
			if len(s.Entries) >= most {
				return stack, fmt.Errorf("%w: more than %d", ErrTooMany, most)
			}
			e, err := statAt(dir, base, path.Join(name, base))
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EINVAL) {
				continue // gone, or no link any more
			}
			if err != nil {
				return stack, err
			}
			s.Entries = append(s.Entries, e)
			if e.Directory() {
				stack = append(stack, e.Path)
			}
		}
		if errors.Is(err, io.EOF) {
			return stack, nil
		}
		if err != nil {
			return stack, err
		}
	}
}

// mark notes what overlayfs has written to a directory of its upper layer.
func mark(dir *os.File, name string, opaque map[string]bool) error {
	var value [8]byte
	n, err := unix.Fgetxattr(int(dir.Fd()), "user.overlay.opaque", value[:])
	if err == nil && n > 0 {
		if value[0] != 'y' {
			return fmt.Errorf("%s has a mark of overlayfs that this version doesn't know", name)
		}
		opaque[name] = true
	}
	if _, err := unix.Fgetxattr(int(dir.Fd()), "user.overlay.redirect", nil); err == nil {
		return fmt.Errorf("%s is a renamed directory in a form that this version doesn't know", name)
	}
	return nil
}

// Reached reports whether now, which is in a, is already what want in b is, but
// for who owns it and when it was written. What can't be read isn't.
func Reached(a *Root, now change.Entry, b *Root, want change.Entry) bool {
	switch {
	case now.Directory() && want.Directory():
		return (now.Perm()^want.Perm())&0o1777 == 0
	case now.Link() && want.Link():
		return now.Target == want.Target
	case !now.Regular() || !want.Regular() || now.Perm() != want.Perm() || now.Size != want.Size:
		return false
	}
	same, err := Same(a, now.Path, b, want.Path)
	return err == nil && same
}

// Same reports whether two regular files have the same content.
func Same(a *Root, nameA string, b *Root, nameB string) (bool, error) {
	x, err := a.File(nameA)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := b.File(nameB)
	if err != nil {
		return false, err
	}
	defer y.Close()
	p, q := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errX := io.ReadFull(x, p)
		m, errY := io.ReadFull(y, q)
		if n != m || string(p[:n]) != string(q[:m]) {
			return false, nil
		}
		overX, overY := errors.Is(errX, io.EOF) || errors.Is(errX, io.ErrUnexpectedEOF), errors.Is(errY, io.EOF) || errors.Is(errY, io.ErrUnexpectedEOF)
		switch {
		case errX != nil && !overX:
			return false, errX
		case errY != nil && !overY:
			return false, errY
		case overX || overY:
			return overX == overY, nil
		}
	}
}
