//go:build linux

package chaos_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stepsOf says below which directories the steps are named of points that are said as
// a prefix and a step.
var stepsOf = map[string][]string{
	"claim/":   {"internal/rundir"},
	"journal/": {"internal/journal/writer"},
	"pack/":    {"internal/executor/retain/pack"},
	"books/":   {"internal/books"},
	"prune/":   {"internal/executor/retain", "internal/rundir/record/durable/prune"},
}

// elsewhere are points that a process of today doesn't come to, with the test that
// ends it there all the same.
var elsewhere = map[string]string{
	"books/summed": "internal/books TestNotedIsCounted", // only where there are runs of days that are over
}

// Every fail point in the code is one at which a test here lets something fail.
func TestEveryFailPointIsAimedAt(t *testing.T) {
	t.Parallel()
	found := failPoints(t)
	if len(found) < 60 {
		t.Errorf("only %d points are found", len(found))
	}
	aimed := aims(t)
	for point, where := range found {
		hit := slices.ContainsFunc(aimed, func(aim string) bool {
			// A step whose name has a part of its own is aimed at with any.
			return aim == point || strings.HasSuffix(point, "-") && strings.HasPrefix(aim, point)
		})
		if !hit && elsewhere[point] == "" {
			t.Errorf("%s, of %s, isn't aimed at", point, where)
		}
	}
	for point, test := range elsewhere {
		if _, there := found[point]; !there {
			t.Errorf("there is no %s any more", point)
		}
		dir, name, _ := strings.Cut(test, " ")
		if !slices.Contains(testsOf(t, dir), name) {
			t.Errorf("%s: there is no test %s", point, test)
		}
	}
	for binary, names := range points {
		for _, point := range names {
			known := point == "*" || slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(name string) bool {
				return name == point || strings.HasSuffix(name, "-") && strings.HasPrefix(point, name)
			})
			if !known {
				t.Errorf("%s is shot at %s, which is no point", binary, point)
			}
		}
	}
}

// failPoints finds them in the code, with the file that has each.
func failPoints(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	sources(t, "../../internal", func(file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			name, literal := words(call.Args[0])
			if on, ok := call.Fun.(*ast.SelectorExpr); ok && literal {
				if room, ok := on.X.(*ast.Ident); ok && room.Name == "failpoint" && (on.Sel.Name == "At" || on.Sel.Name == "Here") {
					if stepsOf[name] == nil {
						found[name] = file
					}
					return true
				}
			}
			if literal && isStep(call.Fun) {
				for prefix, dirs := range stepsOf {
					if slices.ContainsFunc(dirs, func(dir string) bool { return below(file, dir) }) {
						found[prefix+name] = file
					}
				}
			}
			return true
		})
	})
	return found
}

// below reports whether file is in dir, or in a room below it that names the steps of
// no other prefix.
func below(file, dir string) bool {
	place := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(file, "../../")))
	if place == dir {
		return true
	}
	for _, others := range stepsOf {
		for _, other := range others {
			if other != dir && strings.HasPrefix(other, dir+"/") && (place == other || strings.HasPrefix(place, other+"/")) {
				return false
			}
		}
	}
	return strings.HasPrefix(place, dir+"/")
}

// isStep reports whether it is a call of what packages with steps call at or step.
func isStep(fun ast.Expr) bool {
	name := ""
	switch f := fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	return name == "at" || name == "step" || name == "Step"
}

// words is a literal, or the one that an expression begins with, or what a format
// does.
func words(e ast.Expr) (text string, ok bool) {
	if call, isCall := e.(*ast.CallExpr); isCall && len(call.Args) > 1 {
		text, ok = words(call.Args[0])
		text, _, _ = strings.Cut(text, "%")
		return text, ok
	}
	if sum, isSum := e.(*ast.BinaryExpr); isSum {
		return words(sum.X)
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// sources reads the code below dir, tests apart.
func sources(t *testing.T, dir string, each func(file string, f *ast.File)) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "failpoint.") && !strings.Contains(string(text), `at("`) && !strings.Contains(strings.ToLower(string(text)), `step("`) {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err == nil {
			each(path, f)
		}
		return err
	}))
}

// aims are the points at which the tests of this directory aim: what their texts
// begin with.
func aims(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, file := range files {
		if file == "points_test.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := words(e); ok && strings.Contains(text, "/") {
					word, _, _ := strings.Cut(text, " ")
					all = append(all, word)
				}
			}
			return true
		})
	}
	return all
}

// testsOf are the names of a package's tests.
func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(dir), "*_test.go"))
	must(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}
