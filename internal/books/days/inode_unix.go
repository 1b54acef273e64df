//go:build unix

package days

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode names a directory as long as it is there.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Ino)
	}
	return ""
}
