//go:build !unix

package places

import "io/fs"

// links is how many names a file has; zero if that can't be told.
func links(fs.FileInfo) uint64 { return 0 }
