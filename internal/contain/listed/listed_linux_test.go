package listed

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(in("script"), []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(in("empty"), nil, 0o755))
	must(t, os.Mkdir(in("sub"), 0o755))
	must(t, os.Symlink("script", in("link")))
	must(t, os.Symlink("nowhere", in("dangling")))
	got, err := Find([]string{in("script"), in("link"), in("empty"), in("sub"), in("missing"), in("dangling"), in("script"), in("script") + "/x"})
	if err == nil {
		t.Errorf("what leads through a file is no error: %v", got)
	}
	got, err = Find([]string{in("script"), in("link"), in("empty"), in("sub"), in("missing"), in("dangling"), in("script")})
	must(t, err)
	want := []Entry{{in("script"), in("script"), false}, {in("link"), in("script"), false}, {in("empty"), in("empty"), false}, {in("sub"), in("sub"), true}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, err := Find(nil); err != nil || got == nil {
		t.Errorf("nothing listed must not be anything: %v, %v", got, err)
	}
}

// The loader of a program of the system is listed with it, once, and is static itself.
func TestFindLoader(t *testing.T) {
	t.Parallel()
	got, err := Find([]string{"/bin/sh", "/bin/cat"})
	must(t, err)
	if len(got) < 2 || len(got) > 3 {
		t.Fatalf("got %v", got)
	}
	if len(got) == 2 {
		t.Skip("these programs are static here")
	}
	loader, err := elf.Open(got[2].Path)
	must(t, err)
	must(t, loader.Close())
}

// A directory of programs brings their loader, whatever else lies there.
func TestFindLoaderOfDirectory(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("/bin/sh")
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a script"), []byte("#!/bin/sh\n"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "b"), 0o755))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "c")))
	must(t, os.WriteFile(filepath.Join(dir, "d"), program, 0o755))
	alone, err := Find([]string{"/bin/sh"})
	must(t, err)
	got, err := Find([]string{dir})
	must(t, err)
	if !got[0].Dir || !slices.Equal(got[1:], alone[1:]) {
		t.Errorf("got %v, want the directory and %v", got, alone[1:])
	}
}

// Whatever a file holds, a loader is an absolute path or there is none.
func FuzzLoader(f *testing.F) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(program[:min(len(program), 4096)])
	f.Add([]byte("\x7fELF"))
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if path := loaderOf(bytes.NewReader(content)); path != "" && !filepath.IsAbs(path) {
			t.Errorf("got %q", path)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
