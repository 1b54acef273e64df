package repository

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// mostPacked bounds how much of the packed references is read.
const mostPacked = 4 << 20

// headOf returns the id that HEAD, which says text, stands for; empty where that isn't
// easily told, and git is to be asked. What comes back is an id by its form and nothing
// else: a repository can make it name whatever it likes.
func headOf(dir *os.Root, common, text string) string {
	if hexadecimal(text) {
		return text
	}
	ref, ok := strings.CutPrefix(text, "ref: ")
	if !ok || !strings.HasPrefix(ref, "refs/heads/") || !filepath.IsLocal(ref) || path.Clean(ref) != ref {
		return ""
	}
	if _, err := dir.Lstat(path.Join(common, "reftable")); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	id, err := read(dir, path.Join(common, ref))
	switch {
	case err == nil && hexadecimal(id):
		return id
	case errors.Is(err, fs.ErrNotExist):
		if ids, whole := packed(dir, path.Join(common, "packed-refs"), ref); whole {
			return ids[ref]
		}
	}
	return ""
}
