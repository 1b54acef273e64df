package house_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// kept is the size in bytes above which a file among the sources is a mistake.
const kept = 1 << 20

// TestNothingBuiltIsKept finds programs and heaps of data among the sources, such as the
// test that was compiled in passing and then committed: whoever clones loads it forever.
func TestNothingBuiltIsKept(t *testing.T) {
	t.Parallel()
	if found := built(t, os.DirFS(root)); len(found) > 0 {
		t.Errorf("%v: programs, or over %d bytes; these don't belong among the sources", found, kept)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.test": "\x7fELF\x02", "a/y": "MZ\x90\x00", "z.json": string(make([]byte, kept+1)), "bin/ours": "\x7fELF\x02", "ok.go": "package ok\n", "empty": "",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := built(t, os.DirFS(dir)), []string{"a/y", "x.test", "z.json"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// built returns the files below a module's top that hold a program or too much, but for
// where the Makefile puts them and what git doesn't keep.
func built(t *testing.T, top fs.FS) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(top, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "dist", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := top.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		start := make([]byte, 4)
		if _, err := io.ReadFull(f, start); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if bytes.HasPrefix(start, []byte("\x7fELF")) || bytes.HasPrefix(start, []byte("MZ")) || bytes.HasPrefix(start, []byte{0xcf, 0xfa, 0xed, 0xfe}) || info.Size() > kept {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
