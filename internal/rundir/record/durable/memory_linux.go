package durable

import "golang.org/x/sys/unix"

// Waits reports whether to make something durable in dir takes waiting: not where files
// are nothing but memory.
func Waits(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return true
	}
	return st.Type != unix.TMPFS_MAGIC && st.Type != unix.RAMFS_MAGIC
}
