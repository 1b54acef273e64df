package survey

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system are the directories that every program sees, whatever a policy says.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"}

// needs returns the directories that the program at path must see to work: that
// of the name it was found by and that of the file, which are often not the
// same, and the Python that a virtual environment is made from.
func needs(path, home, root string) []string {
	var dirs []string
	add := func(file string) {
		if dir := installation(file, home, root); dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		add(real)
	}
	for _, dir := range slices.Clone(dirs) {
		for line := range strings.Lines(string(read(filepath.Join(dir, "pyvenv.cfg")))) {
			if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "home" {
				add(filepath.Join(strings.TrimSpace(value), "python3"))
			}
		}
	}
	return dirs
}

// installation is the directory with what belongs to the program file: what its
// bin lies in, unless that is as good as somebody's home, where secrets are. It
// is empty where every program sees it, and where there is nothing to show.
func installation(file, home, root string) string {
	dir := filepath.Dir(file)
	if !filepath.IsAbs(dir) || slices.ContainsFunc(system, func(s string) bool { return below(s, dir) }) {
		return ""
	}
	if base := filepath.Base(dir); base == "bin" || base == "sbin" {
		if up := filepath.Dir(dir); !private(up, home, root) {
			return up
		}
	}
	if private(dir, home, root) {
		return ""
	}
	return dir
}

// private reports whether dir holds a home or the project, or is where tools keep
// settings and secrets: ~/.local, ~/.cargo.
func private(dir, home, root string) bool {
	if filepath.Dir(dir) == "/" || below(dir, root) {
		return true
	}
	if home = filepath.Clean(home); !filepath.IsAbs(home) {
		return false
	}
	return below(dir, home) || filepath.Dir(dir) == home && strings.HasPrefix(filepath.Base(dir), ".")
}

// toolchain returns the program that rustup would run in the place of path, which
// may be one of its proxies: they write below their own home, and choose by what
// a project says. It returns path itself if that isn't one, or none is known.
func toolchain(path string, getenv func(string) string) string {
	if real, err := filepath.EvalSymlinks(path); err != nil || filepath.Base(real) != "rustup" {
		return path
	}
	home := toolHome("RUSTUP_HOME", getenv)
	for line := range strings.Lines(string(read(filepath.Join(home, "settings.toml")))) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) != "default_toolchain" {
			continue
		}
		file := filepath.Join(home, "toolchains", strings.Trim(strings.TrimSpace(value), `"`), "bin", filepath.Base(path))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && below(home, file) {
			return file
		}
	}
	return path
}

// crates finds what cargo fetched, without the token for publishing that lies
// beside it. The first is cargo's home, empty if there is nothing.
func crates(getenv func(string) string) (home string, parts []string) {
	dir := toolHome("CARGO_HOME", getenv)
	for _, part := range []string{"registry", "git"} {
		path := filepath.Join(dir, part)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			home, parts = dir, append(parts, path)
		}
	}
	return home, parts
}

// toolHome is where a variable such as CARGO_HOME says, else ~/.cargo.
func toolHome(name string, getenv func(string) string) string {
	if dir := getenv(name); dir != "" {
		return filepath.Clean(dir)
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, "."+strings.ToLower(strings.TrimSuffix(name, "_HOME")))
	}
	return ""
}

// below reports whether path is dir or lies below it.
func below(dir, path string) bool {
	inside, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(inside)
}
