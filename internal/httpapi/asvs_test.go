//go:build linux

package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asvsItems are the numbers of the items of the levels 1 and 2 of ASVS 5.0.0, by
// sections: how many there are, which are always the first ones.
const asvsItems = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4
5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1
9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2 12.3:4
13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2`

// The page has each item once, and names tests and pages that exist.
func TestASVS(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/asvs.md")
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]int{}
	for word := range strings.FieldsSeq(asvsItems) {
		section, count, _ := strings.Cut(word, ":")
		var n int
		if _, err := fmt.Sscan(count, &n); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			where[fmt.Sprintf("%s.%d", section, i+1)] = 0
		}
	}
	item := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		items := strings.Split(cells[0], ", ")
		if !strings.HasPrefix(line, "| ") || !item.MatchString(items[0]) {
			continue
		}
		for _, one := range items {
			if _, known := where[one]; !known {
				t.Errorf("line %d: %q is no item of level 1 or 2", i+1, one)
			}
			where[one]++
		}
		if len(cells) == 3 {
			shown(t, i+1, cells[2])
		}
	}
	for one, n := range where {
		if n != 1 {
			t.Errorf("%s is there %d times", one, n)
		}
	}
}

// shown looks for what shows an item: tests of a package, or headings of a page.
func shown(t *testing.T, line int, cell string) {
	t.Helper()
	for part := range strings.SplitSeq(cell, "; ") {
		place, names, ok := strings.Cut(part, ": ")
		files, err := filepath.Glob(filepath.Join("..", "..", place, "*_test.go"))
		sign := "\nfunc %s("
		if strings.HasSuffix(place, ".md") {
			files, sign = []string{filepath.Join("..", "..", place)}, "\n## %s\n"
		}
		if !ok || err != nil || len(files) == 0 {
			t.Errorf("line %d: %q names no package and no page", line, part)
			continue
		}
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		if strings.Contains(all.String(), fmt.Sprintf(sign, names)) {
			continue // a heading may have commas
		}
		for name := range strings.SplitSeq(names, ", ") {
			if !strings.Contains(all.String(), fmt.Sprintf(sign, name)) {
				t.Errorf("line %d: there is no %s in %s", line, name, place)
			}
		}
	}
}
