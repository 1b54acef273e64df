// Package listed finds what must be executable for programs to be: the files
// themselves, and the loader that the kernel starts in the place of a dynamic one.
//
// # Limits
//
// It doesn't follow scripts to their interpreters: package judge does, which knows
// the PATH by which some are found. Of a directory it lists the directory alone, so
// a loader that only programs in there use must be listed by itself.
package listed

import (
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// An Entry may be executed; a directory stands for all below it.
type Entry struct {
	Path string
	// Real is Path with links followed.
	Real string
	Dir  bool
}

// longestLoader bounds the path of a loader, as the kernel does.
const longestLoader = 4096

// Find returns the entries for paths and for their loaders, each once. What isn't
// there is left out: then nothing there is executed.
func Find(paths []string) ([]Entry, error) {
	entries, seen := []Entry{}, map[string]bool{}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		entry, loader, err := look(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		if loader != "" {
			paths = append(paths, loader)
		}
	}
	return entries, nil
}

func look(path string) (e Entry, loader string, err error) {
	e = Entry{Path: filepath.Clean(path)}
	if e.Real, err = filepath.EvalSymlinks(path); err != nil {
		return e, "", err
	}
	info, err := os.Stat(e.Real)
	if err != nil {
		return e, "", err
	}
	if e.Dir = info.IsDir(); e.Dir || !info.Mode().IsRegular() {
		return e, "", nil
	}
	f, err := os.Open(e.Real)
	if errors.Is(err, os.ErrPermission) { // it can be executed and not read
		return e, "", nil
	}
	if err != nil {
		return e, "", err
	}
	defer f.Close()
	return e, loaderOf(f), nil
}

// loaderOf returns the loader that a program names; a script, a static program and
// what isn't a program at all name none.
func loaderOf(f io.ReaderAt) string {
	program, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	for _, part := range program.Progs {
		if part.Type != elf.PT_INTERP || part.Filesz < 2 || part.Filesz > longestLoader {
			continue
		}
		name := make([]byte, part.Filesz)
		if _, err := part.ReadAt(name, 0); err != nil {
			return ""
		}
		path, _, _ := strings.Cut(string(name), "\x00")
		if filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}
