package trust

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// MakeDir walks to the directory at the absolute path p, makes what is missing,
// owner-only, and returns the place. Nobody but root and the owner can lead the
// walk elsewhere or write to the directory, which therefore can't be sticky and
// open to all either. The error says in words what to do about it.
func (o Owner) MakeDir(p string) (*Place, error) {
	if !path.IsAbs(p) {
		return nil, fmt.Errorf("%q isn't an absolute path", p)
	}
	for {
		end, err := Walk(nil, "", p, o.Check)
		if distrust := Distrust(""); errors.As(err, &distrust) {
			return nil, fmt.Errorf("%w: use a directory that nobody but you and root can change, all the way up (chmod go-w what is yours)", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s can't be reached: %w", p, err)
		}
		if end.Missing == nil {
			return ownOnly(end)
		}
		// The next walk looks at what we make, too: somebody else may have been faster.
		err = end.makeNext()
		end.Close()
		if err != nil {
			return nil, err
		}
	}
}

// ownOnly returns the place if it is a directory that no others can write to.
func ownOnly(end *Place) (*Place, error) {
	var err error
	switch {
	case end.Stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		err = &os.PathError{Op: "open", Path: end.Path, Err: unix.ENOTDIR}
	case end.Stat.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0:
		err = fmt.Errorf("%s can be written to by others (mode %04o): chmod go-w it, or name another directory", end.Path, end.Stat.Mode&0o7777)
	default:
		return end, nil
	}
	end.Close()
	return nil, err
}

// makeNext makes the first directory that is missing, durably.
func (p *Place) makeNext() error {
	name := p.Missing[0]
	if err := unix.Mkdirat(int(p.File.Fd()), name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return &os.PathError{Op: "mkdir", Path: path.Join(p.Path, name), Err: err}
	}
	dir, err := Openat(int(p.File.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return &os.PathError{Op: "open", Path: p.Path, Err: err}
	}
	return errors.Join(dir.Sync(), dir.Close())
}
