// Package survey looks at a project and at the tools installed, so that a policy
// can be proposed for it.
//
// # Limits
//
// It reads names and a few small files and runs nothing. What a file of the
// project says is taken for a name and never for more; package propose decides
// what of it can stand in a policy.
package survey

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"paddock/internal/policy/propose"
)

// markers are the files that tell what a project is made with.
var markers = []string{
	"go.mod", "go.work", "package.json", "pnpm-lock.yaml", "yarn.lock", "Makefile", "makefile", "GNUmakefile",
	"Cargo.toml", "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "ruff.toml", "mypy.ini", ".mypy.ini", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "build.ninja", ".git",
}

// tools are the programs for which a proposal may know rules.
var tools = []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff", "git", "mypy", "mvn", "gradle", "cmake", "ctest", "ninja"}

// mostBytes bounds what is read of a file of the project.
const mostBytes = 1 << 20

// Look returns what there is in the directory root, which is absolute.
func Look(root string, getenv func(string) string) propose.Project {
	p := propose.Project{Root: root, Tools: map[string]string{}, GoModCache: goModCache(getenv), Needs: map[string][]string{}}
	dirs := projects(root)
	for _, name := range markers {
		at := slices.IndexFunc(dirs, func(dir string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil })
		if at < 0 {
			continue
		}
		p.Markers = append(p.Markers, name)
		if below, err := filepath.Rel(root, dirs[at]); at > 0 && err == nil {
			if p.Places == nil {
				p.Places = map[string]string{}
			}
			p.Places[name] = filepath.ToSlash(below)
		}
	}
	for _, name := range tools {
		if path := find(name, root, getenv("PATH")); path != "" {
			path = toolchain(path, getenv)
			p.Tools[name] = path
			if dirs := needs(path, getenv("HOME"), root); len(dirs) > 0 {
				p.Needs[name] = dirs
			}
		}
	}
	if p.Tools["cargo"] != "" {
		home, parts := crates(getenv)
		p.CargoHome, p.Needs["cargo"] = home, append(p.Needs["cargo"], parts...)
	}
	if home := getenv("HOME"); p.Tools["mvn"] != "" && filepath.IsAbs(home) {
		if dir := filepath.Join(home, ".m2", "repository"); isDir(dir) {
			p.MavenRepository = dir
		}
	}
	for _, dir := range dirs {
		p.Scripts = union(p.Scripts, scripts(read(filepath.Join(dir, "package.json"))))
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // the order in which make looks
			if text := read(filepath.Join(dir, name)); text != nil {
				p.Targets = union(p.Targets, targets(text))
				break
			}
		}
	}
	return p
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func union(a, b []string) []string {
	for _, one := range b {
		if !slices.Contains(a, one) {
			a = append(a, one)
		}
	}
	return a
}

// mostProjects bounds how many directories are looked into.
const mostProjects = 200

// projects are root and the directories in which there may be a project of its own,
// two levels down, links not followed. What tools fetch or make isn't the project's.
func projects(root string) []string {
	dirs := []string{root}
	for level, from := 0, 0; level < 2; level++ {
		to := len(dirs)
		for _, dir := range dirs[from:to] {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			for _, e := range entries {
				name := e.Name()
				if !e.IsDir() || name[0] == '.' || slices.Contains(fetched, name) || len(dirs) == mostProjects {
					continue
				}
				dirs = append(dirs, filepath.Join(dir, name))
			}
		}
		from = to
	}
	return dirs
}

var fetched = []string{"node_modules", "vendor", "target", "build", "dist", "out", "testdata", "venv", "env", "third_party"}

// Program returns the path of an installed program that is called so, absolute
// already or in PATH; empty if there is none.
func Program(word string, getenv func(string) string) string {
	if !filepath.IsAbs(word) {
		return find(word, "", getenv("PATH"))
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || filepath.Clean(word) != word {
		return ""
	}
	return word
}

// find looks for a program in the directories of a PATH. One that comes from
// the project itself doesn't count: whoever works there could change it.
func find(name, root, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			continue
		}
		if inside, err := filepath.Rel(root, real); root != "" && err == nil && filepath.IsLocal(inside) {
			continue
		}
		return file
	}
	return ""
}

func goModCache(getenv func(string) string) string {
	candidates := []string{getenv("GOMODCACHE")}
	for _, dir := range filepath.SplitList(getenv("GOPATH")) {
		candidates = append(candidates, filepath.Join(dir, "pkg", "mod"))
	}
	if home := getenv("HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "go", "pkg", "mod"))
	}
	for _, dir := range candidates {
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// read returns the content of a regular file of moderate size, or nil. What
// can't be read proposes nothing.
func read(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostBytes {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes))
	if err != nil {
		return nil
	}
	return text
}

func scripts(text []byte) []string {
	var file struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	if json.Unmarshal(text, &file) != nil {
		return nil // no package.json, or one that npm wouldn't read either
	}
	var names []string
	for name := range file.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// target is a plain target at the start of a line; variables, patterns and
// special targets aren't meant for typing.
var target = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*)[ \t]*::?([^=]|$)`) })

func targets(text []byte) []string {
	var names []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, mostBytes+1)
	for lines.Scan() {
		if m := target().FindStringSubmatch(lines.Text()); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
