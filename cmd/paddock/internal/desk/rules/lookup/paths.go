package lookup

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// exists reports whether there is something at path. What can't be looked at
// exists: opening it tells why, where passing over it would fall back in
// silence on a policy further down the list.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, os.ErrNotExist)
}

// RealPath follows every link, as far as path exists.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(RealPath(parent), filepath.Base(path))
}

// Within reports whether path is dir or lies below it. Both are real.
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// upwards yields dir and every directory above it.
func upwards(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) {
			up := filepath.Dir(dir)
			if up == dir {
				return
			}
			dir = up
		}
	}
}

// top is the directory that a person would call the project: the nearest one
// upwards that is under version control, else where they are.
func top(dir string) string {
	for up := range upwards(dir) {
		if exists(filepath.Join(up, ".git")) {
			return up
		}
	}
	return dir
}

// word writes a path so that a shell reads it as one word.
func word(path string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-"
	if path != "" && strings.Trim(path, safe) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
