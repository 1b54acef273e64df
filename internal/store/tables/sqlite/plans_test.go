//go:build linux

package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlans sees that no query goes through all runs that ever were: where it has no
// index to search by, it has one of what is live or queued.
func TestPlans(t *testing.T) {
	path := place(t)
	open(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	files, err := filepath.Glob("../queries/*.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	statement, argument := regexp.MustCompile("(?s)const (\\w+) = `(.*?)`"), regexp.MustCompile(`\$\d+`)
	lists := regexp.MustCompile("^(runs.*|queued.*|prunableRuns)$")
	seen := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range statement.FindAllStringSubmatch(string(text), -1) {
			seen++
			arguments := map[string]bool{}
			for _, a := range argument.FindAllString(m[2], -1) {
				arguments[a] = true
			}
			rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+m[2], make([]any, len(arguments))...)
			if err != nil {
				t.Fatal(m[1], err)
			}
			for rows.Next() {
				var a, b, c int
				var what string
				if err := rows.Scan(&a, &b, &c, &what); err != nil {
					t.Fatal(err)
				}
				sorts := lists.MatchString(m[1]) && strings.HasPrefix(what, "USE TEMP B-TREE FOR ORDER BY")
				if slow(what) || sorts {
					t.Errorf("%s: %s", m[1], what)
				}
			}
			if err := rows.Err(); err != nil {
				t.Error(err)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if seen < 80 {
		t.Errorf("only %d queries were found", seen)
	}
}

// slow reports whether a step looks at runs in a way that takes longer with all that
// ever were.
func slow(step string) bool {
	words := strings.Fields(step)
	if len(words) < 2 || words[1] != "runs" && words[1] != "r" {
		return false
	}
	few := strings.Contains(step, "runs_live") || strings.Contains(step, "runs_queued")
	return words[0] == "SCAN" && !few || strings.Contains(step, "runs_claimed") && !strings.Contains(step, "COVERING") && !few
}
