package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/lines"
)

// A proof is one line of the audit: what tries something, at which levels.
type proof struct {
	levels []paddock.Level
	kind   string
	name   string
}

// audit reads the table of what attackers try.
func audit(t *testing.T) (phrases []string, proofs map[string][]proof) {
	t.Helper()
	text, err := os.ReadFile("testdata/audit.txt")
	if err != nil {
		t.Fatal(err)
	}
	proofs = map[string][]proof{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t"):
			phrases = append(phrases, line)
		default:
			levels, rest, _ := strings.Cut(strings.TrimSpace(line), "  ")
			var p proof
			for level := range strings.FieldsSeq(levels) {
				p.levels = append(p.levels, paddock.Level(level))
			}
			p.kind, p.name, _ = strings.Cut(strings.TrimSpace(rest), " ")
			last := phrases[len(phrases)-1]
			proofs[last] = append(proofs[last], p)
		}
	}
	return phrases, proofs
}

// held says at which levels something is promised to be held, by its promises.
func held(at func(paddock.Level) attempt.Expectation) (levels []paddock.Level) {
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		if at(level) == attempt.Held {
			levels = append(levels, level)
		}
	}
	return levels
}

// Every phrase of the audit is tried at full, by attempts and tests that exist, at the
// levels that promise it and at no others.
func TestAudit(t *testing.T) {
	t.Parallel()
	phrases, proofs := audit(t)
	if len(phrases) < 40 {
		t.Errorf("only %d phrases", len(phrases))
	}
	for _, phrase := range phrases {
		full := false
		for _, p := range proofs[phrase] {
			full = full || slices.Contains(p.levels, paddock.Full)
			if problem := p.check(t); problem != "" {
				t.Errorf("%s: %s %s: %s", phrase, p.kind, p.name, problem)
			}
		}
		if !full {
			t.Errorf("%s: nothing tries it at full", phrase)
		}
	}
}

// check says what is wrong with a proof.
func (p proof) check(t *testing.T) string {
	t.Helper()
	var promised []paddock.Level
	switch p.kind {
	case "attempt":
		i := slices.IndexFunc(attempt.List, func(a attempt.Attempt) bool { return a.Name == p.name })
		if i < 0 {
			return "there is no such attempt"
		}
		promised = held(attempt.List[i].At)
	case "line":
		all := slices.Concat(lines.Plain, lines.Listed)
		i := slices.IndexFunc(all, func(l lines.Line) bool { return l.Name == p.name })
		if i < 0 {
			return "there is no such line"
		}
		promised = held(all[i].At)
	case "test":
		return findTest(t, p.name)
	default:
		return "what is that?"
	}
	if !slices.Equal(promised, p.levels) {
		return "it is held at " + strconv.Quote(join(promised))
	}
	return ""
}

func join(levels []paddock.Level) string {
	var words []string
	for _, l := range levels {
		words = append(words, string(l))
	}
	return strings.Join(words, " ")
}

// findTest says what is missing of a test, by the text of a package's tests.
func findTest(t *testing.T, name string) string {
	t.Helper()
	dir, test, _ := strings.Cut(name, " ")
	test, sub, _ := strings.Cut(test, "/")
	files, err := filepath.Glob(filepath.Join("../../..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	switch {
	case !strings.Contains(all.String(), "\nfunc "+test+"(t *testing.T) {"):
		return "there is no such test"
	case sub != "" && !strings.Contains(all.String(), "t.Run("+strconv.Quote(sub)+","):
		return "the test has no such part"
	}
	return ""
}

// Every row that a line of shell names is one of the page.
func TestLinesHaveRows(t *testing.T) {
	t.Parallel()
	page, seen := rows(t), map[string]bool{}
	for _, l := range slices.Concat(lines.Plain, lines.Listed) {
		if l.Row != "" && page[l.Row] == nil {
			t.Errorf("%s: the page has no row %q", l.Name, l.Row)
		}
		if seen[l.Name] || len(l.Promises) != 3 || strings.Trim(l.Promises, "ho-x") != "" {
			t.Errorf("%s is there twice, or promises nonsense", l.Name)
		}
		seen[l.Name] = true
	}
}
