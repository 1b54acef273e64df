//go:build linux

// Package trust says whether a directory is one that nobody but its owner and
// root could exchange or write to, and whose locks can be relied on.
//
// # Limits
//
// Permissions are looked at as the kernel shows them at one moment. What root
// does, and what a process of the same user does, isn't guarded against.
package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir walks to path from the root directory, makes what is missing, and returns
// the real path; self is the user who will use it. Every directory and link on the way is looked at
// before it is passed, through a descriptor: who can't change one of them
// can't lead the walk elsewhere, now or later.
func Dir(path string, self uint32) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q isn't an absolute path", path)
	}
	w := walk{self: self, fd: -1, pending: words(path)}
	defer w.leave()
	if err := w.restart(); err != nil {
		return "", err
	}
	for len(w.pending) > 0 {
		if err := w.next(); err != nil {
			return "", err
		}
	}
	if w.st.Mode&0o022 != 0 {
		return "", fmt.Errorf("%s can be written by others (mode %04o): chmod go-w it, or name another directory", w.real, w.st.Mode&0o7777)
	}
	return w.real, localFileSystem(w.fd, w.st.Dev, w.real)
}

// A walk is the place reached so far and the names still to go.
type walk struct {
	self    uint32
	fd      int
	st      unix.Stat_t
	real    string
	pending []string
	links   int
}

func (w *walk) leave() {
	if w.fd >= 0 {
		unix.Close(w.fd)
	}
}

func (w *walk) restart() error {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/", Err: err}
	}
	return w.enter(fd, "/")
}

// enter takes over fd and moves to it if it can be trusted.
func (w *walk) enter(fd int, real string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return &os.PathError{Op: "stat", Path: real, Err: err}
	}
	if err := trustEntry(real, st.Uid, st.Mode, w.self); err != nil {
		unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		defer unix.Close(fd)
		return w.follow(fd, real)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		unix.Close(fd)
		return &os.PathError{Op: "open", Path: real, Err: unix.ENOTDIR}
	}
	w.leave()
	w.fd, w.st, w.real = fd, st, real
	return nil
}

func (w *walk) next() error {
	name := w.pending[0]
	w.pending = w.pending[1:]
	real := filepath.Join(w.real, name)
	fd, err := unix.Openat(w.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(w.fd, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return &os.PathError{Op: "mkdir", Path: real, Err: err}
		}
		if err := sync(w.real); err != nil {
			return err
		}
		fd, err = unix.Openat(w.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: real, Err: err}
	}
	return w.enter(fd, real)
}

func sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (w *walk) follow(fd int, real string) error {
	if w.links++; w.links > 40 { // as many as the kernel follows
		return &os.PathError{Op: "open", Path: real, Err: unix.ELOOP}
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return &os.PathError{Op: "readlink", Path: real, Err: err}
	}
	target := string(buf[:n])
	w.pending = append(words(target), w.pending...)
	if filepath.IsAbs(target) {
		return w.restart()
	}
	return nil
}

func words(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// trustEntry says whether a directory or link on the way could be changed, or
// exchanged, by anybody but root and self. A sticky directory may be writable
// by all: only an entry's owner can move it, and that is checked in its turn.
func trustEntry(name string, uid, mode, self uint32) error {
	if uid != 0 && uid != self {
		return fmt.Errorf("%s belongs to user %d, who could exchange what is in it: use a directory that belongs to you or root all the way up", name, uid)
	}
	if mode&unix.S_IFMT == unix.S_IFLNK {
		return nil // the mode of a link means nothing
	}
	if mode&0o022 != 0 && mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): chmod go-w it, or name another directory", name, mode&0o7777)
	}
	return nil
}

// Magic numbers of file systems whose locks and links don't reach every machine
// that sees the files, so that "nobody holds the lock" would mean nothing.
var networkMagic = map[uint64]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2", 0x01021997: "9P",
	0x5346414F: "AFS", 0x6B414653: "AFS", 0x73757245: "Coda", 0x00C36400: "Ceph", 0x01161970: "GFS2",
	0x7461636F: "OCFS2", 0x0BD00BD0: "Lustre", 0x564C: "NCP", 0x47504653: "GPFS", 0x19830326: "BeeGFS",
	0x786F4256: "VirtualBox shared folder", 0xBACBACBC: "VMware shared folder", 0x7C7C6670: "Parallels shared folder",
}

const fuseMagic = 0x65735546

// localFuse lists the FUSE file systems that keep their files on this machine.
// All others share one magic number with sshfs and are taken for remote.
var localFuse = map[string]bool{"fuseblk": true, "fuse.fuse-overlayfs": true, "fuse.gocryptfs": true, "fuse.encfs": true}

func localFileSystem(fd int, dev uint64, path string) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	fuse := func() (string, error) {
		b, err := os.ReadFile("/proc/self/mountinfo")
		return mountType(string(b), unix.Major(dev), unix.Minor(dev)), err
	}
	return trustMagic(path, uint64(uint32(st.Type)), fuse)
}

func trustMagic(path string, magic uint64, fuse func() (string, error)) error {
	name, network := networkMagic[magic]
	if magic == fuseMagic {
		kind, err := fuse()
		if err != nil {
			return err
		}
		name, network = kind, !localFuse[kind]
	}
	if network {
		return fmt.Errorf("%s is on a network file system (%s), where locks can't be relied on: name a directory on a local disk", path, name)
	}
	return nil
}

// mountType finds the type of the mounted device in the text of mountinfo.
func mountType(mountinfo string, major, minor uint32) string {
	dev := fmt.Sprintf("%d:%d", major, minor)
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 2 && fields[2] == dev && len(kind) > 0 {
			return kind[0]
		}
	}
	return "unknown"
}
