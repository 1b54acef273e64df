//go:build !linux

package trust

import (
	"fmt"
	"os"
	"path/filepath"
)

// This version runs nothing on this system: what is looked at only serves to
// check and explain a policy. So who else may write to a file isn't asked here,
// and Linux, where it matters, has a walk of its own.

// An Owner is a user whose files are trusted; it has no meaning here.
type Owner struct{}

// User returns the user that this process acts as.
func User() Owner { return Owner{} }

// UID returns the owner who is the user uid.
func UID(int) Owner { return Owner{} }

// Identity tells one content of a file from another as far as is cheap.
type Identity struct {
	Size  int64
	Mtime int64 // nanoseconds
}

// Open opens the regular file at the absolute path p for reading.
func (o Owner) Open(p string) (*os.File, Identity, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, Identity{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", p)
	}
	if err != nil {
		f.Close()
		return nil, Identity{}, err
	}
	return f, Identity{info.Size(), info.ModTime().UnixNano()}, nil
}

// Dir says whether there is a directory p.
func (o Owner) Dir(p string) error {
	info, err := os.Stat(p)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", p)
	}
	return err
}

// A Place is a directory that was found.
type Place struct {
	File *os.File
	Path string // with every link followed
	Stat struct{ Dev uint64 }
}

// Close closes the directory.
func (p *Place) Close() { p.File.Close() }

// MakeDir makes the directory at the absolute path p where it is missing.
func (o Owner) MakeDir(p string) (*Place, error) {
	if !filepath.IsAbs(p) {
		return nil, fmt.Errorf("%q isn't an absolute path", p)
	}
	if err := os.MkdirAll(p, 0o700); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(real)
	return &Place{File: f, Path: real}, err
}

// Strange says no: who owns what isn't asked here.
func (o Owner) Strange(string) bool { return false }
