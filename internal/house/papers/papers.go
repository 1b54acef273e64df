// Package papers checks what is written beside the code: that dependencies are
// listed with a reason, that documents name and link what exists, and that the files
// by which people find their way are there.
//
// # Limits
//
// It doesn't read what the reasons say, and it looks into code spans and links only.
package papers

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"paddock/internal/house/source"
)

// GuestBook is the document that lists dependencies with a reason each.
const GuestBook = "docs/guests.md"

// The headings of the tables in the guest book.
const (
	ModulesHeading  = "## Modules"
	StartersHeading = "## Packages that could start programs"
)

var bookRow = regexp.MustCompile("^\\| `([^`]+)` \\|(.*)\\|\\s*$")

// book returns the rows of one table of the guest book, name to reason, and the names
// that have more than one.
func book(t *source.Tree, heading string) (rows map[string]string, twice []string) {
	rows = map[string]string{}
	in := false
	for line := range strings.Lines(t.Docs[GuestBook]) {
		if strings.HasPrefix(line, "## ") {
			in = strings.TrimSpace(line) == heading
		}
		if m := bookRow.FindStringSubmatch(strings.TrimRight(line, "\n")); in && m != nil {
			if _, there := rows[m[1]]; there {
				twice = append(twice, m[1])
			}
			rows[m[1]] = strings.TrimSpace(m[2])
		}
	}
	return rows, twice
}

// Guests compares one table of the guest book with who is really there. A row
// without a reason is as good as none, and of two rows nobody knows which one holds; a
// row for one who has left is a lie, unless its name is within one that may come back
// without notice.
func Guests(t *source.Tree, heading string, present, mayReturn []string) []source.Finding {
	var found []source.Finding
	rows, twice := book(t, heading)
	for _, name := range twice {
		found = append(found, source.Found("guests", name, "has more than one row under %q in %s; make one of them", heading, GuestBook))
	}
	for _, name := range present {
		if rows[name] == "" {
			found = append(found, source.Found("guests", name, "is here without a reason under %q in %s", heading, GuestBook))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !slices.Contains(present, name) && !source.WithinAny(name, mayReturn) {
			found = append(found, source.Found("guests", name, "has left; delete its row under %q in %s", heading, GuestBook))
		}
	}
	return found
}

var (
	link      = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	fence     = regexp.MustCompile("(?ms)^```.*?^```$")
	pathShape = regexp.MustCompile(`^[\w.*-]+(/[\w.*-]+)*/?$`)
	pathEnds  = []string{".go", ".md", ".yml", ".yaml", ".json", ".mod", ".sh", ".s", "/"}
	pathTops  = []string{"cmd", "internal", "runner", "docs", "testdata", "tools", "web", ".ci"}
)

// Paths finds paths in the code spans of a document that don't exist. A span is
// a path when it looks like one: it ends as a file of ours does, or begins with
// one of our directories. Stars match as in a shell. What is planned counts as
// existing before it is built, since its place is settled.
func Paths(t *source.Tree, doc string, planned func(dir string) bool) []source.Finding {
	var found []source.Finding
	text := fence.ReplaceAllString(t.Docs[doc], "")
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if !looksLikePath(name) || planned(path.Clean(name)) {
			continue
		}
		hits, err := filepath.Glob(filepath.Join(t.Root, filepath.FromSlash(name)))
		if err != nil || len(hits) == 0 {
			found = append(found, source.Found("paths", doc, "names %s, which doesn't exist", name))
		}
	}
	return found
}

func looksLikePath(name string) bool {
	if !pathShape.MatchString(name) {
		return false
	}
	top, _, nested := strings.Cut(name, "/")
	return nested && slices.Contains(pathTops, top) ||
		slices.ContainsFunc(pathEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Links finds what the Markdown files link to within the repository and isn't
// there: a newcomer follows links, and a text outlives the file that it names.
func Links(t *source.Tree) []source.Finding {
	var found []source.Finding
	for _, doc := range slices.Sorted(maps.Keys(t.Docs)) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(t.Docs[doc], ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(t.Root, filepath.FromSlash(path.Join(path.Dir(doc), target)))); err != nil {
				found = append(found, source.Found("paths", doc, "links to %s, which doesn't exist", target))
			}
		}
	}
	return found
}

// Manners finds what the repository must have for people to find their way:
// the named files, each with something in it.
func Manners(t *source.Tree, names ...string) []source.Finding {
	var found []source.Finding
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(t.Root, name)); err != nil || info.Size() == 0 {
			found = append(found, source.Found("manners", name, "is missing or empty"))
		}
	}
	return found
}
