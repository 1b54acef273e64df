package repository

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
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
		return packed(dir, path.Join(common, "packed-refs"), ref)
	}
	return ""
}

// packed returns what the file called name says of ref; empty for nothing.
func packed(dir *os.Root, name, ref string) string {
	if st, err := dir.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it could be a pipe by now
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, mostPacked))
	for lines.Scan() {
		if id, named, ok := strings.Cut(lines.Text(), " "); ok && named == ref && hexadecimal(id) {
			return id
		}
	}
	return "" // also where it is too long, or can't be read
}
