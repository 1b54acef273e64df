// Package trust walks along paths and says who could have changed what they
// lead to.
//
// A walk opens one component after the other, through the descriptor of the one
// before, and never lets the kernel follow a link. So every directory and every
// link on the way is looked at, and what was looked at is what was passed. One
// rule, [Owner.Check], is asked for policies, executables and the directories
// that Paddock writes in; the last may be made on the way.
//
// # Limits
//
// Trust is in users, root and our own: what one of them has opened to write
// stays open. A sticky directory counts as safe, since only the owner of a name
// in it can replace that.
package trust

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// An Owner is a user whose files are trusted beside root's. The zero Owner is
// root.
type Owner struct{ uid uint32 }

// User returns the user that this process acts as.
func User() Owner { return Owner{uint32(os.Geteuid())} }

// UID returns the owner who is the user uid.
func UID(uid int) Owner { return Owner{uint32(uid)} }

// Identity tells one content of a file from another as far as the kernel shows.
type Identity struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds
}

// Check is the rule for everything on the way to a file that we believe: it
// belongs to root or to us, and nobody else may change it. A directory in which
// everyone may write is fine when it is sticky, since names in it can be
// replaced only by their owners, who are looked at in turn.
func (o Owner) Check(at string, st *unix.Stat_t) error {
	if st.Uid != 0 && st.Uid != o.uid {
		return Distrust(fmt.Sprintf("%s belongs to user %d, who is neither root nor the user that runs Paddock", at, st.Uid))
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFLNK { // a link has no mode of its own
		return nil
	}
	if kind == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 {
		return nil
	}
	switch {
	case st.Mode&unix.S_IWOTH != 0:
		return Distrust(fmt.Sprintf("%s can be written to by everyone (mode %04o)", at, st.Mode&0o7777))
	case st.Mode&unix.S_IWGRP != 0:
		return Distrust(fmt.Sprintf("%s can be written to by its group %d (mode %04o)", at, st.Gid, st.Mode&0o7777))
	}
	return nil
}

// Strange says whether p, with its links followed, belongs to neither root nor us.
func (o Owner) Strange(p string) bool {
	var st unix.Stat_t
	return unix.Stat(p, &st) == nil && st.Uid != 0 && st.Uid != o.uid
}

// Open opens the regular file at the absolute path p for reading, if
// neither it nor any directory or link on the way to it can be changed by
// others. The error says in words what is wrong; a missing file gives
// [os.ErrNotExist].
func (o Owner) Open(p string) (*os.File, Identity, error) {
	end, err := o.Reach(p)
	if err != nil {
		return nil, Identity{}, err
	}
	defer end.Close()
	file, err := end.Reopen()
	if err != nil {
		return nil, Identity{}, err
	}
	return file, IdentityOf(&end.Stat), nil
}

// Reach walks to a regular file that can be trusted.
func (o Owner) Reach(p string) (*Place, error) {
	end, err := Walk(nil, "", p, o.Check)
	if err != nil {
		return nil, err
	}
	switch {
	case end.Missing != nil:
		err = os.ErrNotExist
	case end.Stat.Mode&unix.S_IFMT != unix.S_IFREG:
		err = Distrust(p + " is not a regular file")
	default:
		return end, nil
	}
	end.Close()
	return nil, err
}

// Dir says whether the directory p, and all on the way to it, can be changed by
// nobody else.
func (o Owner) Dir(p string) error {
	end, err := Walk(nil, "", p, o.Check)
	if err != nil {
		return err
	}
	defer end.Close()
	switch {
	case end.Missing != nil:
		return os.ErrNotExist
	case end.Stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		return Distrust(p + " is not a directory")
	}
	return nil
}

// Reopen opens for reading what a walk has found, and nothing else.
func (p *Place) Reopen() (*os.File, error) {
	file, err := Openat(int(p.parent.Fd()), p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, err
	}
	if st.Dev != p.Stat.Dev || st.Ino != p.Stat.Ino {
		file.Close()
		return nil, Distrust(p.Path + " was replaced while it was looked at")
	}
	return file, nil
}

// Keep returns the file as it was found, opened with O_PATH, for the caller to
// close.
func (p *Place) Keep() (*os.File, error) {
	fd, err := unix.FcntlInt(p.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.Path), nil
}

// IdentityOf returns the identity of a file.
func IdentityOf(st *unix.Stat_t) Identity {
	return Identity{
		Dev: st.Dev, Ino: st.Ino, Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// InWords turns an error into what Unsafe and Problem say.
func InWords(p string, err error) string {
	var d Distrust
	if errors.As(err, &d) {
		return string(d)
	}
	return fmt.Sprintf("%s can't be looked at: %v", p, err)
}
