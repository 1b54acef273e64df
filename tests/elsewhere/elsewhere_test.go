//go:build !race

// Package elsewhere_test holds what is for other systems to be sound Go there: every
// type of it is checked as the compiler does, from the sources and without machine code,
// which nobody runs here and takes minutes to make.
//
// # Limits
//
// Nothing is linked and nothing is run. With the race detector it is left out: it would
// take ten times as long, and `make test` runs it on its own.
package elsewhere_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// On other systems Paddock only explains, but it does build.
func TestOtherSystems(t *testing.T) {
	t.Parallel()
	found, ours := faults(t, filepath.Join("..", ".."), "darwin", "./runner/...", "./cmd/...")
	for _, f := range found {
		t.Error(f)
	}
	if ours < 100 {
		t.Errorf("only %d packages of ours were checked", ours)
	}
}

// What is wrong on another system alone is found there, and what is right isn't.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module paddock\n\ngo 1.27\n",
		"a/a.go":           "package a\n\nimport \"os\"\n\nfunc F() error { _, err := os.Stat(x()); return err }\n",
		"a/a_linux.go":     "package a\n\nfunc x() string { return \"\" }\n",
		"a/a_darwin.go":    "package a\n\nfunc x() int { return 1 }\n",
		"b/b.go":           "package b\n\nimport \"syscall\"\n\nvar Call = syscall.SYS_CLONE3\n",
		"c/c.go":           "package c\n\nimport \"fmt\"\n",
		"d/d.go":           "package d\n\nfunc F() { var unused int }\n",
		"e/e.go":           "package e\n\nimport \"paddock/f\"\n\nvar E = f.F\n",
		"f/f.go":           "package f\n\nfunc F()\n",
		"sound/s.go":       "package sound\n\nimport \"net/http\"\n\nvar Client http.Client\n",
		"sound/s_linux.go": "package sound\n\nvar _ int = \"\"\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	found, _ := faults(t, dir, "darwin", "./...")
	var where []string
	for _, f := range found {
		name, _, _ := strings.Cut(f, ":")
		where = append(where, filepath.Base(name))
	}
	slices.Sort(where)
	if got := slices.Compact(where); !slices.Equal(got, []string{"a.go", "b.go", "c.go", "d.go", "f.go"}) {
		t.Errorf("faults in %q: %q", got, found)
	}
}

// A listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	SFiles          []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
}

// faults returns what a compiler for the system would say of the packages of the module at
// dir that match, and how many of this module were looked at.
func faults(t *testing.T, dir, system string, patterns ...string) (found []string, ours int) {
	t.Helper()
	list := testproc.Command(t, "go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,Module"}, patterns...)...)
	list.Dir, list.Env = dir, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		var exit *testproc.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list for %s: %v", system, err)
	}
	w := world{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for { // what is imported comes before who imports it
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found, ours
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		if p.Module != nil && p.Module.Main {
			ours++
		}
		found = append(found, w.check(t, p)...)
	}
}

// A world is the packages that were checked, by their import paths.
type world struct {
	fset *token.FileSet
	done map[string]*types.Package
}

// check returns what is wrong with a package of ours. Others are believed, and only what
// they declare is looked at.
func (w *world) check(t *testing.T, p listed) (found []string) {
	t.Helper()
	files := w.parse(t, p)
	mine := p.Module != nil && p.Module.Main
	conf := types.Config{
		IgnoreFuncBodies: !mine, Sizes: types.SizesFor("gc", runtime.GOARCH),
		Importer: importing(func(path string) (*types.Package, error) {
			if to, ok := p.ImportMap[path]; ok {
				path = to
			}
			if pkg := w.done[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("%s isn't there", path)
		}),
		Error: func(err error) {
			if mine {
				found = append(found, err.Error())
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	pkg, _ := conf.Check(p.ImportPath, w.fset, files, nil) // Error is told each
	w.done[p.ImportPath] = pkg
	if mine && len(p.SFiles) == 0 {
		found = append(found, w.bodiless(files)...)
	}
	return found
}

// bodiless returns the functions that have no body and no assembly that could have it.
func (w *world) bodiless(files []*ast.File) (found []string) {
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
				found = append(found, fmt.Sprintf("%s: %s has no body", w.fset.Position(fn.Pos()), fn.Name.Name))
			}
		}
	}
	return found
}

func (w *world) parse(t *testing.T, p listed) []*ast.File {
	t.Helper()
	files, faults := make([]*ast.File, len(p.GoFiles)), make([]error, len(p.GoFiles))
	var wg sync.WaitGroup
	for i, name := range p.GoFiles {
		wg.Go(func() {
			files[i], faults[i] = parser.ParseFile(w.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		})
	}
	wg.Wait()
	if err := errors.Join(faults...); err != nil {
		t.Fatal(err)
	}
	return files
}

type importing func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (i importing) Import(path string) (*types.Package, error) { return i(path) }
