package survey

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/policy"
	"paddock/internal/policy/propose"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, bin, cache := filepath.Join(base, "root"), filepath.Join(base, "bin"), filepath.Join(base, "gopath", "pkg", "mod")
	write(t, filepath.Join(root, "go.mod"), "module x\n", 0o644)
	write(t, filepath.Join(root, "Makefile"), "X := 1\nall: test lint\n\ttrue\ntest lint:: all\n.PHONY: all\n%.o: %.c\nall:\nodd name:\nsay-it:\n", 0o644)
	write(t, filepath.Join(root, "package.json"), `{"scripts": {"test": "x", "build": "y"}}`, 0o644)
	write(t, filepath.Join(bin, "go"), "", 0o755)
	write(t, filepath.Join(bin, "make"), "", 0o644)          // not executable
	write(t, filepath.Join(root, "tools", "npm"), "", 0o755) // the project's own
	write(t, filepath.Join(bin, "cargo", "x"), "", 0o755)    // a directory
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "tools", "npm"), filepath.Join(bin, "pnpm")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PATH":   strings.Join([]string{"relative", "", filepath.Join(root, "tools"), bin, filepath.Join(base, "none")}, ":"),
		"GOPATH": filepath.Join(base, "gopath"),
	}
	got := Look(root, func(name string) string { return env[name] })
	want := propose.Project{
		Root: root, Markers: []string{"go.mod", "package.json", "Makefile"}, Tools: map[string]string{"go": filepath.Join(bin, "go")},
		Scripts: []string{"build", "test"}, Targets: []string{"all", "say-it"}, GoModCache: cache,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the project (-want +got):\n%s", diff)
	}
}

// Whatever lies around in a project, what is proposed for it is a policy.
func TestHostileProject(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"empty":            {},
		"no JSON":          {"package.json": "{"},
		"wrong types":      {"package.json": `{"scripts": ["a"]}`},
		"odd names":        {"package.json": `{"scripts": {"a\nb": "", "": "", "{x}": "", "\u0000": "", "'\"": "", "...": "", "<word>": "", "--flag": ""}}`},
		"a long line":      {"Makefile": strings.Repeat("x", 100_000) + ":\n"},
		"too large":        {"Makefile": strings.Repeat("a:\n", mostBytes), "package.json": strings.Repeat(" ", mostBytes+1)},
		"not text":         {"Makefile": "\xff\x00:\n", "package.json": "\xff"},
		"targets of words": {"Makefile": "-f: x\n--: x\nrm -rf: x\n$(X): y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			root := filepath.Join(base, "root")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				write(t, filepath.Join(root, file), text, 0o644)
			}
			for _, tool := range tools {
				write(t, filepath.Join(base, "bin", tool), "", 0o755)
			}
			text := propose.Propose(Look(root, func(name string) string {
				return map[string]string{"PATH": filepath.Join(base, "bin")}[name]
			}))
			if _, err := policy.Load("p", text); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}
