//go:build !unix

package artifact

import "os"

const noFollow = 0

// syncDir does nothing: this system offers no such promise for directories.
func syncDir(*os.File) error { return nil }
