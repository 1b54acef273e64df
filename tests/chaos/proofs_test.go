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

	"paddock"
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

// Every promise of the pages has a proof, and all of them are there.
func TestProofs(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{}
	for _, page := range []string{"containment.md", "durable.md", "policy.md", "reviewing.md", "server.md"} {
		promises, of := proofs(t, "../../docs/reports/"+page)
		if len(promises) < 60 {
			t.Errorf("only %d promises of %s are read", len(promises), page)
		}
		proved(t, promises, of, tests)
	}
}

// proved fails where a proof isn't there; tests are those of directories.
func proved(t *testing.T, promises []string, of map[string]map[string][]string, tests map[string][]string) {
	t.Helper()
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

// Every code of a refusal has a line of its own, and the file of a test that it names is
// about that code.
func TestEveryRefusalHasATest(t *testing.T) {
	t.Parallel()
	_, of := proofs(t, "../../docs/reports/policy.md")
	for _, c := range paddock.Codes() {
		named := of["`"+string(c.Code)+"`"]
		if len(named) == 0 {
			t.Errorf("no line of the page is about %s", c.Code)
		}
		for dir, names := range named {
			for _, name := range names {
				if text := sourceOf(t, dir, name); !strings.Contains(text, "TestRefusal_"+string(c.Code)+"(") && !mentions(text, c.Code) {
					t.Errorf("%s of %s isn't about %s", name, dir, c.Code)
				}
			}
		}
	}
}

// sourceOf is the file that the test is in.
func sourceOf(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return string(text)
		}
	}
	return ""
}

// mentions reports whether text has the constant of a code.
func mentions(text string, code paddock.Code) bool {
	for _, m := range regexp.MustCompile(`\bpaddock\.(\w+)`).FindAllStringSubmatch(text, -1) {
		if strings.EqualFold(m[1], strings.ReplaceAll(string(code), "_", "")) {
			return true
		}
	}
	return false
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
