package durable

import "os"

// IsAt says whether the open file f is what name leads to.
func IsAt(f *os.File, name string) (bool, error) {
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(name)
	if err != nil {
		return false, IgnoreMissing(err)
	}
	return os.SameFile(ours, named), nil
}
