package survey

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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
		Needs: map[string][]string{"go": {bin}}, // what that lies in holds the project, too
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

// What a program needs to see is its own installation and nobody's home.
func TestNeeds(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home, root := filepath.Join(base, "home"), filepath.Join(base, "home", "src", "project")
	at := func(elements ...string) string { return filepath.Join(append([]string{base}, elements...)...) }
	for _, file := range []string{
		"sdk/go/bin/go", "home/.nvm/versions/node/v22/lib/npm-cli.js", "home/.cargo/bin/cargo", "home/bin/own", "home/lone", "tools/tool", "python/bin/python3",
	} {
		write(t, at(file), "", 0o755)
	}
	write(t, at("venvs/a/pyvenv.cfg"), "home = "+at("python/bin")+"\nversion = 3\n", 0o644)
	write(t, at("venvs/a/bin/pytest"), "", 0o755)
	for link, target := range map[string]string{
		"home/.nvm/versions/node/v22/bin/npm": "../lib/npm-cli.js", "home/.local/bin/go": at("sdk/go/bin/go"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(link)), 0o755), os.Symlink(target, at(link))); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string][]string{
		at("sdk/go/bin/go"):                       {at("sdk/go")},
		at("home/.nvm/versions/node/v22/bin/npm"): {at("home/.nvm/versions/node/v22"), at("home/.nvm/versions/node/v22/lib")},
		at("home/.local/bin/go"):                  {at("home/.local/bin"), at("sdk/go")},
		at("home/.cargo/bin/cargo"):               {at("home/.cargo/bin")},
		at("home/bin/own"):                        {at("home/bin")},
		at("home/lone"):                           nil,
		at("tools/tool"):                          {at("tools")},
		at("venvs/a/bin/pytest"):                  {at("venvs/a"), at("python")},
		"/usr/bin/env":                            nil,
		"/usr/local/go/bin/go":                    nil,
		"/opt/x/bin/x":                            nil,
		"/optional/bin/x":                         {"/optional/bin"},
		"/x":                                      nil,
	} {
		if diff := cmp.Diff(want, needs(file, home, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// Cargo's home holds a token for publishing, which nobody is shown, and cargo is
// often a proxy that would choose another.
func TestCargo(t *testing.T) {
	t.Parallel()
	home, rustup := t.TempDir(), t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home, "RUSTUP_HOME": rustup}[name] }
	proxy, real := filepath.Join(home, ".cargo", "bin", "cargo"), filepath.Join(rustup, "toolchains", "stable-x", "bin", "cargo")
	for _, file := range []string{filepath.Join(home, ".cargo/bin/rustup"), filepath.Join(home, ".cargo/registry/x"), filepath.Join(home, ".cargo/credentials.toml"), real} {
		write(t, file, "", 0o755)
	}
	if err := os.Symlink("rustup", proxy); err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string]string{
		"version = \"12\"\ndefault_toolchain = \"stable-x\"\n": real, "default_toolchain = \"gone\"\n": proxy, "": proxy,
		"default_toolchain = \"../../../../../../bin/../x\"\n": proxy,
	} {
		write(t, filepath.Join(rustup, "settings.toml"), settings, 0o644)
		if got := toolchain(proxy, env); got != want {
			t.Errorf("with %q cargo is %s, want %s", settings, got, want)
		}
	}
	if got := toolchain(real, env); got != real {
		t.Errorf("what isn't a proxy becomes %s", got)
	}
	dir, parts := crates(env)
	if want := []string{filepath.Join(home, ".cargo", "registry")}; dir != filepath.Join(home, ".cargo") || !slices.Equal(parts, want) {
		t.Errorf("crates are in %s: %q", dir, parts)
	}
	if dir, parts := crates(func(string) string { return "" }); dir != "" || parts != nil {
		t.Errorf("without a home they are in %q: %q", dir, parts)
	}
}

// A directory of several projects has the markers, scripts and targets of all, but
// not of what tools put there.
func TestSeveralProjects(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"web/package.json": `{"scripts": {"test": "x"}}`, "services/api/go.mod": "module a\n", "services/api/Makefile": "api:\n", "Makefile": "all:\n",
		"node_modules/x/Cargo.toml": "", "a/b/c/pom.xml": "", ".hidden/pyproject.toml": "", "lib/CMakeLists.txt": "",
	} {
		file := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := Look(root, func(string) string { return "" })
	if got := strings.Join(p.Markers, " "); got != "go.mod package.json Makefile CMakeLists.txt" {
		t.Errorf("markers %s", got)
	}
	for word, want := range map[string]string{"go": "/services/api", "npm": "/web", "make": "", "cmake": "/lib", "cargo": "", "nope": ""} {
		if got := propose.Where(p, word); got != root+want {
			t.Errorf("%s is for %s, want %s", word, got, root+want)
		}
	}
	if got := strings.Join(append(p.Scripts, p.Targets...), " "); got != "test all api" {
		t.Errorf("scripts and targets %s", got)
	}
}
