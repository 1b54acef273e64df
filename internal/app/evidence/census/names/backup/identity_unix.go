//go:build unix

package backup

import (
	"io/fs"
	"syscall"
)

// An identity tells one file from another, whatever their names.
type identity struct{ dev, ino uint64 }

// identify says which file it is, and whether it has several names.
func identify(info fs.FileInfo) (id identity, several bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{uint64(st.Dev), uint64(st.Ino)}, st.Nlink > 1 //nolint:unconvert // the types differ between systems
}
