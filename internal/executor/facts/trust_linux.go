package facts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A distrust says in words why a file can't be trusted.
type distrust string

func (d distrust) Error() string { return string(d) }

// trusted is the rule for everything on the way to a file that we believe: it
// belongs to root or to us, and nobody else may change it. A directory in which
// everyone may write is fine when it is sticky, since names in it can be
// replaced only by their owners, who are looked at in turn.
func (f *Finder) trusted(at string, st *unix.Stat_t) error {
	if st.Uid != 0 && st.Uid != f.uid {
		return distrust(fmt.Sprintf("%s belongs to user %d, who is neither root nor the user that runs Paddock", at, st.Uid))
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
		return distrust(fmt.Sprintf("%s can be written to by everyone (mode %04o)", at, st.Mode&0o7777))
	case st.Mode&unix.S_IWGRP != 0:
		return distrust(fmt.Sprintf("%s can be written to by its group %d (mode %04o)", at, st.Gid, st.Mode&0o7777))
	}
	return nil
}

// OpenTrusted opens the regular file at the absolute path p for reading, if
// neither it nor any directory or link on the way to it can be changed by
// others. The error says in words what is wrong; a missing file gives
// [os.ErrNotExist].
func (f *Finder) OpenTrusted(p string) (*os.File, Identity, error) {
	end, err := f.reach(p)
	if err != nil {
		return nil, Identity{}, err
	}
	defer end.close()
	file, err := reopen(end)
	if err != nil {
		return nil, Identity{}, err
	}
	return file, identity(&end.stat), nil
}

// TrustedDir says in words why the directory p, which exists, could be changed
// by others, or nil.
func (f *Finder) TrustedDir(p string) error {
	end, err := walk(nil, "", p, f.trusted)
	if err != nil {
		return err
	}
	defer end.close()
	if end.missing != nil {
		return os.ErrNotExist
	}
	return nil
}

// reach walks to a regular file that can be trusted.
func (f *Finder) reach(p string) (*place, error) {
	end, err := walk(nil, "", p, f.trusted)
	if err != nil {
		return nil, err
	}
	switch {
	case end.missing != nil:
		err = os.ErrNotExist
	case end.stat.Mode&unix.S_IFMT != unix.S_IFREG:
		err = distrust(p + " is not a regular file")
	default:
		return end, nil
	}
	end.close()
	return nil, err
}

// reopen opens for reading what a walk has found, and nothing else.
func reopen(p *place) (*os.File, error) {
	file, err := openat(int(p.parent.Fd()), p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, err
	}
	if st.Dev != p.stat.Dev || st.Ino != p.stat.Ino {
		file.Close()
		return nil, distrust(p.path + " was replaced while it was looked at")
	}
	return file, nil
}

func identity(st *unix.Stat_t) Identity {
	return Identity{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// inWords turns an error into what Unsafe and Problem say.
func inWords(p string, err error) string {
	var d distrust
	if errors.As(err, &d) {
		return string(d)
	}
	return fmt.Sprintf("%s can't be looked at: %v", p, err)
}
