//go:build unix

package places

import (
	"io/fs"
	"syscall"
)

// links is how many names a file has; zero if that can't be told.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // not everywhere are there so many bits
	}
	return 0
}
