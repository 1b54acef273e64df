// Package owned looks whether what lies in a state directory is what it is to be, its
// owner's, and nobody else's to get at.
//
// # Limits
//
// It opens no file and follows nothing. What is in a HOME belongs to those who run
// there and isn't looked at; whether the directories of runs are, is up to who looks at
// runs.
package owned

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"paddock"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/places"
)

// A Look is at one state directory.
type Look struct {
	State string
	Find  finding.Find
	uid   int64
}

// At returns a Look at state, whose owner is to be that of all that is in it.
func At(state string, find finding.Find) (*Look, error) {
	info, err := os.Lstat(state)
	if err != nil {
		return nil, err
	}
	return &Look{state, find, owner(info)}, nil
}

// Plain tells of a file or directory that is something else, or not its owner's alone,
// and says whether it can be looked into.
func (l *Look) Plain(run paddock.RunID, path string, dir bool) (fine bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, durable.IgnoreMissing(err)
	}
	if dir != info.IsDir() || !dir && !info.Mode().IsRegular() {
		what := "a file"
		if dir {
			what = "a directory"
		}
		var mend finding.Mend
		if filepath.Ext(path) == ".lines" {
			mend = finding.ByRebuild
		}
		return false, l.Find(finding.Hostile, run, path, mend, "it is %s where %s is to be; it is neither followed nor opened", finding.What(info.Mode()), what)
	}
	return true, l.mode(run, path, info)
}

// mode tells of what belongs to somebody else, or that others can get at.
func (l *Look) mode(run paddock.RunID, path string, info fs.FileInfo) error {
	if is, uid := owner(info), l.ownerOf(path); is != uid {
		return l.Find(finding.Mode, run, path, "", "it belongs to user %d, and should to user %d", is, uid)
	}
	if open := info.Mode().Perm() & 0o077 &^ l.may(path, info); open != 0 {
		return l.Find(finding.Mode, run, path, "", "others may get at it (mode %04o): chmod go-rwx it", info.Mode().Perm())
	}
	return nil
}

// ownerOf is the user whose path is to be: the state directory's, and for a HOME of
// runs that are another account's that account.
func (l *Look) ownerOf(path string) int64 {
	if filepath.Dir(path) != filepath.Join(l.State, places.Homes) {
		return l.uid
	}
	_, account, of := strings.Cut(filepath.Base(path), ".")
	uid, err := strconv.ParseUint(account, 10, 32)
	if !of || err != nil {
		return l.uid
	}
	return int64(uid)
}

// may is what others may do with path.
func (l *Look) may(path string, info fs.FileInfo) fs.FileMode {
	switch {
	case info.IsDir() && path == l.State:
		return 0o055 // as its user made it; what is in it is closed
	case info.IsDir() && path == filepath.Join(l.State, places.Homes):
		return 0o011 // others may pass through, where runs are another account's
	case !info.IsDir() && filepath.Ext(path) == ".pub":
		return 0o044 // a public key is for everybody
	}
	return 0
}

// All looks at the state directory and at everything in it, but for the directories of
// runs.
func (l *Look) All() error {
	info, err := os.Lstat(l.State)
	if err != nil {
		return err
	}
	if err := l.mode("", l.State, info); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.State)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "runs" {
			continue // looked at by who knows what it is to be
		}
		if err := l.below(filepath.Join(l.State, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// below looks at what is in a directory, which is below the one called top.
func (l *Look) below(dir, top string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		if err != nil {
			if durable.IgnoreMissing(err) != nil {
				return err
			}
			continue
		}
		switch {
		case info.Mode().IsRegular():
			err = l.mode("", path, info)
		case info.IsDir():
			if err = l.mode("", path, info); err == nil && top != places.Homes {
				err = l.below(path, top)
			}
		case top == links.ActiveDir, top == links.UnseenDir, top == links.KeysDir: // told of as entries that can't be read
		default:
			err = l.Find(finding.Hostile, "", path, "", "it is %s, and only files and directories are put here; it is neither followed nor opened", finding.What(info.Mode()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
