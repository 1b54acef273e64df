// Package source parses a whole module into a value that checks can look at.
//
// A [Tree] holds every Go file as syntax, whatever its build tags say, together
// with what else a build would take in. Names are resolved by syntax: a use of
// an imported package's member is seen wherever it stands.
//
// # Limits
//
// There are no types, so a method's receiver is unknown, and what is reached by
// reflection isn't seen. The package judges nothing; package house does.
package source

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Tree is a parsed module. It isn't changed by checks.
type Tree struct {
	Module string
	Files  []*File // sorted by path
	// Foreign lists files that a Go build would take in beside Go: assembly, C,
	// objects.
	Foreign []string
	// Docs holds the module's Markdown files at the top and in docs/.
	Docs map[string]string

	// Root is the module's directory on disk.
	Root string

	fset *token.FileSet
}

// A File is one parsed Go file.
type File struct {
	// Path and Dir are slash-separated and relative to the module; the Dir of
	// the root package is ".".
	Path, Dir string
	Test      bool // in a _test.go file, or in a [Kit]
	Script    bool // excluded from every build by "go:build ignore"
	Server    bool // only in the build of the server, by "go:build server"
	Generated bool
	Lines     int
	AST       *ast.File

	imports map[string]string // by local name
}

// A Finding is one thing that a check has against a tree.
type Finding struct {
	Rule  string // the check that found it
	Where string // path, path:line, or a package
	What  string // what is wrong and what to do instead
}

// Found returns a Finding whose text is formatted.
func Found(rule, where, format string, args ...any) Finding {
	return Finding{Rule: rule, Where: where, What: fmt.Sprintf(format, args...)}
}

// String returns the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Where, f.What, f.Rule) }

// Load parses the module at root. Directories named testdata, directories that
// begin with a dot or an underscore, and modules inside the module are not part
// of it. Files are parsed whatever their build tags say.
func Load(root string) (*Tree, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(mod)
	if m == nil {
		return nil, fmt.Errorf("%s/go.mod names no module", root)
	}
	t := &Tree{Module: string(m[1]), Root: root, fset: token.NewFileSet(), Docs: map[string]string{}}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(name, rel)
		}
		return t.add(name, filepath.ToSlash(rel))
	})
	return t, err
}

func skipDir(name, rel string) error {
	base := filepath.Base(name)
	if rel == "." {
		return nil
	}
	if base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// foreign are the extensions that `go build` compiles or links beside .go.
var foreign = []string{".s", ".S", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".swig", ".swigcxx", ".syso"}

func (t *Tree) add(name, rel string) error {
	ext := path.Ext(rel)
	switch {
	case ext == ".go":
		return t.read(name, rel)
	case ext == ".md" && (path.Dir(rel) == "." || strings.HasPrefix(rel, "docs/")):
		text, err := os.ReadFile(name)
		t.Docs[rel] = string(text)
		return err
	case slices.Contains(foreign, ext) && !strings.HasPrefix(rel, "web/"):
		t.Foreign = append(t.Foreign, rel)
	}
	return nil
}

// Parse returns a tree of those of these Go files of which wanted says so, by their
// imports and their text: a guest may be a database of a million lines, which takes a
// minute to parse, and what matters about it stands in its first ten.
func Parse(files []string, wanted func(imports []string, text []byte) bool) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		head, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		imports := make([]string, len(head.Imports))
		for i, spec := range head.Imports {
			imports[i] = ImportPath(spec)
		}
		if !wanted(imports, src) {
			continue
		}
		if err := t.parse(src, name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tree) read(name, rel string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return t.parse(src, rel)
}

func (t *Tree) parse(src []byte, rel string) error {
	// Object resolution is wanted: it tells a local name from a package's.
	syntax, err := parser.ParseFile(t.fset, rel, src, parser.ParseComments)
	if err != nil {
		return err
	}
	head := src[:t.fset.Position(syntax.Package).Offset] // a constraint below the package clause is none
	f := &File{
		Path: rel, Dir: path.Dir(rel), AST: syntax,
		Test:      strings.HasSuffix(rel, "_test.go") || Kit(path.Dir(rel)),
		Script:    script.Match(head),
		Server:    server.Match(head),
		Generated: ast.IsGenerated(syntax),
		Lines:     bytes.Count(src, []byte("\n")),
		imports:   map[string]string{},
	}
	for _, spec := range syntax.Imports {
		target := ImportPath(spec)
		local := defaultName(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		f.imports[local] = target
	}
	t.Files = append(t.Files, f)
	return nil
}

var (
	script = regexp.MustCompile(`(?m)^//go:build (.*\W)?ignore\b`)
	server = regexp.MustCompile(`(?m)^//go:build server\b`)
)

// Kit reports whether dir is a package of tests that several packages run: by its
// name, as in testing/fstest.
func Kit(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") }

// ImportPath returns the path that spec imports.
func ImportPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "\"`") }

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// defaultName guesses the name of the package at an import path. It is exact
// for the packages that the checks look for.
func defaultName(target string) string {
	base := path.Base(target)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(target))
	}
	return base
}

// Uses calls yield for each mention of a member of an imported package.
func (f *File) Uses(yield func(pkg, member string, at token.Pos)) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// Obj is set when the name is declared in this file: then it's no package.
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil {
			if pkg, ok := f.imports[x.Name]; ok {
				yield(pkg, sel.Sel.Name, sel.Pos())
			}
		}
		return true
	})
}

// ImportsPath reports whether f imports the package path.
func (f *File) ImportsPath(path string) bool {
	return slices.ContainsFunc(f.AST.Imports, func(s *ast.ImportSpec) bool { return ImportPath(s) == path })
}

// DotImport reports whether the import at pos brings its names in bare.
func (f *File) DotImport(pos token.Pos) bool {
	return slices.ContainsFunc(f.AST.Imports, func(s *ast.ImportSpec) bool {
		return s.Pos() == pos && s.Name != nil && s.Name.Name == "."
	})
}

// Shipped reports whether f is part of what others can import or install.
func (f *File) Shipped() bool { return !f.Test && !f.Script }

// EachImport calls yield for every import of every file.
func (t *Tree) EachImport(yield func(f *File, target string, at token.Pos)) {
	for _, f := range t.Files {
		for _, spec := range f.AST.Imports {
			yield(f, ImportPath(spec), spec.Pos())
		}
	}
}

// Position returns the place of pos.
func (t *Tree) Position(pos token.Pos) token.Position { return t.fset.Position(pos) }

// Where returns the place of pos as path:line.
func (t *Tree) Where(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// Local returns the directory of one of the module's own packages, and false
// for any other import path.
func (t *Tree) Local(importPath string) (dir string, ours bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// Dirs returns the packages that some file passing keep belongs to, sorted.
func (t *Tree) Dirs(keep func(*File) bool) []string {
	var dirs []string
	for _, f := range t.Files {
		if keep(f) {
			dirs = append(dirs, f.Dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Way returns the packages by which what is shipped in or below the directory
// from reaches the directory to or one below it, the last included, or nil. What only
// the server is built with doesn't count.
func (t *Tree) Way(from, to string) []string {
	next := map[string][]string{}
	t.EachImport(func(f *File, target string, _ token.Pos) {
		if dir, ours := t.Local(target); ours && f.Shipped() && !f.Server {
			next[f.Dir] = append(next[f.Dir], dir)
		}
	})
	seen := map[string]bool{}
	var walk func(dir string) []string
	walk = func(dir string) []string {
		for _, d := range next[dir] {
			if Within(d, to) {
				return []string{d}
			}
			if seen[d] {
				continue
			}
			seen[d] = true
			if rest := walk(d); rest != nil {
				return append([]string{d}, rest...)
			}
		}
		return nil
	}
	for _, dir := range t.Dirs(func(f *File) bool { return Within(f.Dir, from) }) {
		if way := walk(dir); way != nil {
			return way
		}
	}
	return nil
}

// Within reports whether dir is room or below it. Only the root package itself
// is within ".".
func Within(dir, room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") }

// WithinAny reports whether dir is within one of the rooms.
func WithinAny(dir string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return Within(dir, room) })
}
