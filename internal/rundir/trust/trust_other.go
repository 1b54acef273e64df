//go:build !linux

package trust

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir makes the directory path where it is missing and returns the real path.
// Who else could write to it isn't asked: nothing is run on this system, so
// there is nothing in it that could be forged.
func Dir(path string, _ uint32) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q isn't an absolute path", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
