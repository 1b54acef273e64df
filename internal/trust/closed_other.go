//go:build !linux

package trust

import (
	"fmt"
	"os"
)

// Closed says why others than the owner can read f; nil if nobody can.
func (o Owner) Closed(f *os.File) error {
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("can be read by others (mode %04o)", info.Mode().Perm())
	}
	return err
}
