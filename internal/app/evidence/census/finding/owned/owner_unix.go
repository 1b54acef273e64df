//go:build unix

package owned

import (
	"io/fs"
	"syscall"
)

// owner is the user whose file it is.
func owner(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Uid)
	}
	return -1
}
