//go:build unix

package lookup

import (
	"fmt"
	"os"
	"syscall"
)

// likewise gives file the owner and the mode of another.
func likewise(file *os.File, as os.FileInfo) error {
	if owner, ok := as.Sys().(*syscall.Stat_t); ok {
		if err := file.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("its owner can't be kept: %w", err)
		}
	}
	return file.Chmod(as.Mode().Perm())
}

// RootOwns reports whether the file at path, links followed, belongs to root.
func RootOwns(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == 0
}
