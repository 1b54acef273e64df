// Package listed finds what must be executable for programs to be: the files
// themselves, and the loader that the kernel starts in the place of a dynamic one.
//
// # Limits
//
// It doesn't follow scripts to their interpreters: package judge does, which knows
// the PATH by which some are found. With a directory comes the first loader that a
// program directly in it names, and no other.
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
	if e.Dir = info.IsDir(); e.Dir {
		loader, err = loaderIn(e.Real)
		return e, loader, err
	}
	loader, err = loaderAt(e.Real, info.Mode())
	return e, loader, err
}

// mostLooked bounds how many files of a directory are looked at.
const mostLooked = 256

func loaderIn(dir string) (string, error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	files, err := f.ReadDir(mostLooked)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	for _, file := range files {
		loader, err := loaderAt(filepath.Join(dir, file.Name()), file.Type())
		if errors.Is(err, os.ErrNotExist) {
			continue // gone meanwhile
		}
		if loader != "" || err != nil {
			return loader, err
		}
	}
	return "", nil
}

// loaderAt returns the loader of the program at path, if it is one that can be read.
func loaderAt(path string, mode os.FileMode) (string, error) {
	if !mode.IsRegular() {
		return "", nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	return loaderOf(f), nil
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
