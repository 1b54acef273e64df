package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/testproc"
)

// recipe makes $WORK/policy.yaml, for the root $WORK/proj, of the lines that
// docs/recipes.md has under a heading, with this machine's paths in the place of
// those of its examples: recipe HEADING TOOL.
func recipe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recipe HEADING TOOL")
	}
	const docs = "../../docs/recipes.md"
	page, err := os.ReadFile(docs)
	ts.Check(err)
	found := regexp.MustCompile("(?ms)^## " + regexp.QuoteMeta(args[0]) + "\n.*?^```yaml\n(.*?)^```").FindSubmatch(page)
	if found == nil {
		ts.Fatalf("%s has no lines for %s", docs, args[0])
	}
	lines := string(found[1])
	path := regexp.MustCompile(`path: (/\S+)`).FindStringSubmatch(lines)[1]
	if _, err := os.Stat(path); err != nil || args[1] == "go" { // the Go that tests this module is new enough
		tool := installed(args[1], ts.Getenv("PATH"))
		if tool == "" {
			ts.Fatalf("%s isn't installed", args[1])
		}
		lines = strings.ReplaceAll(lines, path, tool)
	}
	if cache := os.Getenv("GOMODCACHE"); cache != "" {
		lines = strings.ReplaceAll(lines, "/home/dev/go/pkg/mod", cache)
	} else if home, err := os.UserHomeDir(); err == nil {
		lines = strings.ReplaceAll(lines, "/home/dev/go/pkg/mod", filepath.Join(home, "go", "pkg", "mod"))
	}
	work := ts.Getenv("WORK")
	text := fmt.Sprintf("version: 1\nroots: [{path: %q}]\n%s", filepath.Join(work, "proj"), lines)
	ts.Check(os.WriteFile(filepath.Join(work, "policy.yaml"), []byte(text), 0o600))
	if args[1] == "go" {
		ts.Check(module(filepath.Join(work, "proj")))
	}
	ts.Setenv("PADDOCK_POLICY", filepath.Join(work, "policy.yaml"))
}

// module makes a Go module that needs another, in the version that we need, since
// that is surely in the cache.
func module(dir string) error {
	const needs = "golang.org/x/sys "
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		return err
	}
	sum, err := os.ReadFile("../../go.sum")
	if err != nil {
		return err
	}
	text, sums := "module example.org/own\n\ngo 1.26.0\n\n", ""
	for line := range strings.Lines(string(mod)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, needs) {
			text += "require " + line + "\n"
		}
	}
	for line := range strings.Lines(string(sum)) {
		if strings.HasPrefix(line, needs) {
			sums += line
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644), os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sums), 0o644))
}

// condition tells scripts what this machine is: [full] where level full can be
// given, or must be; [must] where every guarantee has to be tried.
func condition(cond string) (bool, error) {
	switch cond {
	case "full":
		return testproc.MustContain() || slices.Contains(contain.Probe().Levels(), paddock.Full), nil
	case "must":
		return testproc.MustContain(), nil
	}
	return false, fmt.Errorf("unknown condition %s", cond)
}

func installed(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
