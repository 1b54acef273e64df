package repository

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"paddock/internal/git/repository/settings"
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

// id returns id if it is as long as ids are here: what is shorter or longer could be a branch's name, or the
// beginning of an id, and git is to be asked.
func (l Look) id(id string) string {
	if len(id) != l.long {
		return ""
	}
	return id
}

// longIDs returns how long ids are by the repository's settings, which no other file's can change; zero where
// that isn't easily told.
func longIDs(dir *os.Root, common string) int {
	text, err := read(dir, path.Join(common, "config"))
	if err != nil && !nowhere(err) {
		return 0
	}
	return settings.IDs([]byte(text))
}
