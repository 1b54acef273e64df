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

// rust finds what cargo and rustup installed, without what they know in secret,
// and puts the variables that tell them where it is into homes.
func rust(homes map[string]string, getenv func(string) string) []string {
	var dirs []string
	for name, parts := range map[string][]string{"CARGO_HOME": {"bin", "registry", "git"}, "RUSTUP_HOME": {"toolchains"}} {
		dir := getenv(name)
		if dir == "" && getenv("HOME") != "" {
			dir = filepath.Join(getenv("HOME"), "."+strings.ToLower(strings.TrimSuffix(name, "_HOME")))
		}
		for _, part := range append(parts, "settings.toml") {
			path := filepath.Join(dir, part)
			if _, err := os.Stat(path); filepath.IsAbs(dir) && err == nil {
				homes[name] = filepath.Clean(dir)
				dirs = append(dirs, path)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// below reports whether path is dir or lies below it.
func below(dir, path string) bool {
	inside, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(inside)
}
