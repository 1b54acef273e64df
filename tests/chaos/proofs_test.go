//go:build linux

package chaos_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proofs reads a page with tables of promises and of what proves each: directories,
// each with the names of tests or scripts.
func proofs(t *testing.T, page string) (promises []string, of map[string]map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	of = map[string]map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || strings.TrimSpace(cells[0]) == "promise" {
			continue
		}
		promise := strings.TrimSpace(cells[0])
		if strings.HasPrefix(promise, "…") { // it goes on from the one before
			promise = promises[len(promises)-1] + " " + promise
		}
		if of[promise] != nil {
			t.Errorf("%s: it is there twice", promise)
		}
		promises, of[promise] = append(promises, promise), map[string][]string{}
		dir := ""
		for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ";", " ").Replace(cells[1])) {
			if strings.HasPrefix(word, "`") {
				dir = strings.Trim(word, "`")
				continue
			}
			of[promise][dir] = append(of[promise][dir], word)
		}
	}
	return promises, of
}

// Every promise of the page has a proof, and all of them are there.
func TestProofs(t *testing.T) {
	t.Parallel()
	promises, of := proofs(t, "../../docs/reports/durable.md")
	if len(promises) < 60 {
		t.Errorf("only %d promises are read", len(promises))
	}
	tests := map[string][]string{}
	for _, promise := range promises {
		if len(of[promise]) == 0 {
			t.Errorf("%s: nothing proves it", promise)
		}
		for dir, names := range of[promise] {
			if tests[dir] == nil {
				tests[dir] = testsOf(t, dir)
				scripts, err := filepath.Glob(filepath.Join("../..", dir, "*.txtar"))
				must(t, err)
				for _, script := range scripts {
					tests[dir] = append(tests[dir], filepath.Base(script))
				}
			}
			for _, name := range names {
				if !slices.Contains(tests[dir], name) {
					t.Errorf("%s: %s has no %s", promise, dir, name)
				}
			}
		}
	}
}

// A test that does more where PADDOCK_LONG is set is one that `make long` runs.
func TestLongTestsAreRun(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	must(t, err)
	line := regexp.MustCompile(`(?m)^\tPADDOCK_LONG=1 .* -run '([^']*)' (.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("the Makefile runs no long tests")
	}
	names, dirs := strings.Split(line[1], "|"), strings.Fields(line[2])
	found := 0
	must(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../../")))
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !asksForLong(fn) {
				continue
			}
			found++
			run := slices.ContainsFunc(dirs, func(of string) bool {
				below, all := strings.CutSuffix(of, "/...")
				return dir == of || all && strings.HasPrefix(dir+"/", below+"/")
			})
			if !run || !slices.Contains(names, fn.Name.Name) {
				t.Errorf("%s of %s isn't run by make long", fn.Name.Name, dir)
			}
		}
		return nil
	}))
	if found < 10 {
		t.Errorf("only %d long tests are found", found)
	}
}

// asksForLong reports whether a function asks if it may take minutes.
func asksForLong(fn *ast.FuncDecl) (asks bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		name, literal := words(call.Args[0])
		asks = asks || literal && name == "PADDOCK_LONG"
		return true
	})
	return asks
}
