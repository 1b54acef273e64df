// Package query has what can be asked of git, as values, and makes of each the
// words of one command. A value is a revision, a path, a number, a date or one of
// a few words; none of them can become a flag.
//
// # Limits
//
// The package looks at nothing: whether a revision exists and where a path leads
// is found out by others, and only object ids reach a command.
package query

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"paddock"
)

// A Query is one question. Each tool has a type.
type Query interface {
	// Tool is the tool's word, as "log".
	Tool() string
	// Check refuses values that are out of their type.
	Check() error
	// Refs are the revisions that are to be resolved, in order; Path is what the
	// question is limited to, empty where it is all of the repository.
	Refs() []string
	Path() string
	// Worktree is set when files of the working tree are read, not only objects.
	Worktree() bool
	// Args are the words after git's own options, for the object ids of Refs and
	// the path as git is to see it.
	Args(ids []string, path string) []string
}

// The bounds of values.
const (
	MaxRef     = 200
	MaxPath    = 4096
	MaxCount   = 500
	MaxUnified = 50
	MaxSpan    = 1000
	MaxSkip    = 1 << 30
	MaxAuthor  = 200

	defaultCount = 20
	defaultSpan  = 100
)

// refForm is a name or an object id, then steps and selectors. Ranges, searches
// (:/text, ^{/text}) and paths (rev:path) aren't among them. A name has what git
// lets one have, but for braces.
var (
	refForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([^\x00-\x20\x7f~^:?*\[\\{}\pZ\pC./-][^\x00-\x20\x7f~^:?*\[\\{}\pZ\pC]*|@\{[A-Za-z0-9_-]{1,40}\})(@\{[A-Za-z0-9_-]{1,40}\}|\^\{(commit|tag|object|)\}|[~^][0-9]{0,6})*$`)
	})
	ago = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([1-9][0-9]{0,5}) (second|minute|hour|day|week|month|year)s?( ago)?$`)
	})
)

// Ref checks a revision, which is empty for HEAD.
func Ref(name, ref string) error {
	switch {
	case ref == "":
		return paddock.Refused(paddock.RevisionInvalid, "%s is missing; want a branch, a tag, HEAD or an object id.", name)
	case len(ref) > MaxRef:
		return paddock.Refused(paddock.RevisionInvalid, "%s has %d bytes; at most %d are taken.", name, len(ref), MaxRef)
	case strings.Contains(ref, ":"):
		r := paddock.Refused(paddock.RevisionInvalid, "%s is %q; a revision with a colon names a file or a search.", name, ref)
		r.Hint = "Give the revision and the path apart."
		return r
	case strings.Contains(ref, "..") || !utf8.ValidString(ref) || !refForm().MatchString(ref):
		return paddock.Refused(paddock.RevisionInvalid, "%s is %q; want a branch, a tag, HEAD or an object id, perhaps with ~N, ^N, ^{commit} or @{N}.", name, ref)
	}
	return nil
}

// Within checks a path by its text and returns it relative to root, "" for root
// itself. Where links lead isn't known here.
func Within(root, name string) (string, error) {
	switch {
	case name == "":
		return "", nil
	case len(name) > MaxPath || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0:
		return "", paddock.Refused(paddock.InvalidRequest, "path must be at most %d bytes of UTF-8 without NUL.", MaxPath)
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) {
		inside, ok := strings.CutPrefix(clean, strings.TrimSuffix(root, "/")+"/")
		if clean != root && !ok {
			return "", Outside(name, root)
		}
		if clean = inside; !ok {
			return "", nil
		}
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", Outside(name, root)
	}
	if clean == "." {
		return "", nil
	}
	return clean, nil
}

// Outside refuses a path that leads out of root.
func Outside(name, root string) *paddock.Refusal {
	r := paddock.Refused(paddock.PathOutsideRoot, "The path %q leads outside of %s.", name, root)
	r.Hint = "Name a path inside the repository, relative to its top."
	r.Gate = ""
	return r
}

func number(name string, n, least, most int) error {
	if n < least || n > most {
		return paddock.Refused(paddock.InvalidRequest, "%s is %d; want %d to %d.", name, n, least, most)
	}
	return nil
}

// since returns a date in the one form that git gets it in.
func since(name, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if m := ago().FindStringSubmatch(s); m != nil {
		return m[1] + " " + m[2] + "s ago", nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 2100 {
			return t.UTC().Format(time.RFC3339), nil
		}
	}
	return "", paddock.Refused(paddock.InvalidRequest, "%s is %.70q; want a date such as 2026-05-01 or 2026-05-01T12:00:00Z, or an age such as 3 days ago.", name, s)
}

// Header is what git writes of a commit before what it changes: fields that end
// with NUL, of which parse knows the number. Subject only, or the whole message.
const (
	header     = "--format=commit %H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%"
	headerLine = header + "s%x00"
	headerAll  = header + "B%x00"
)

// history are the options of everything that shows commits.
var history = []string{"--no-show-signature", "--no-mailmap", "--no-notes", "--no-decorate", "--encoding=UTF-8", "--diff-merges=first-parent"}

// changes are the options of everything that shows differences.
var changes = []string{"-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=dirty", "--submodule=short", "--find-renames", "--no-abbrev"}

// patch are the options of the text of differences.
func patch(unified int) []string {
	return []string{"--raw", "--patch", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--unified=" + strconv.Itoa(unified)}
}

func limited(args []string, path string) []string {
	args = append(args, "--")
	if path != "" {
		args = append(args, path)
	}
	return args
}

func orHead(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return ref
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Log asks for commits, newest first.
type Log struct {
	Ref, In string
	// Count is the most commits, 20 if zero; Skip leaves out so many before.
	Count, Skip int
	// Since and Until are dates or ages; Author is text that the author's name and
	// address, as "Ada <ada@example.org>", have in them.
	Since, Until, Author string
	// Format is oneline, full (the default), stat or name-only.
	Format string
}

// Formats of a log.
var Formats = []string{"oneline", "full", "stat", "name-only"}

func (q Log) Tool() string   { return "log" }
func (q Log) Refs() []string { return []string{orHead(q.Ref)} }
func (q Log) Path() string   { return q.In }
func (q Log) Worktree() bool { return false }

// Most is how many commits are asked for.
func (q Log) Most() int {
	if q.Count == 0 {
		return defaultCount
	}
	return q.Count
}

// Check implements Query.
func (q Log) Check() error {
	_, err := since("since", q.Since)
	_, err2 := since("until", q.Until)
	err = firstOf(err, err2)
	if len(q.Author) > MaxAuthor || !utf8.ValidString(q.Author) || strings.ContainsAny(q.Author, "\x00\n") {
		err = firstOf(err, paddock.Refused(paddock.InvalidRequest, "author must be one line of at most %d bytes of UTF-8 without NUL.", MaxAuthor))
	}
	if q.Format != "" && !slices.Contains(Formats, q.Format) {
		err = firstOf(err, paddock.Refused(paddock.InvalidRequest, "format is %.40q; want %s.", q.Format, strings.Join(Formats, ", ")))
	}
	return firstOf(Ref("ref", orHead(q.Ref)), number("the count", q.Most(), 1, MaxCount), number("skip", q.Skip, 0, MaxSkip), err)
}

// Args implements Query.
func (q Log) Args(ids []string, path string) []string {
	form, what := headerAll, []string(nil)
	switch q.Format {
	case "oneline":
		form = headerLine
	case "stat":
		what = []string{"--raw", "--numstat"}
	case "name-only":
		what = []string{"--raw"}
	}
	args := slices.Concat([]string{"log"}, history, changes, what, []string{form, fmt.Sprintf("--max-count=%d", q.Most()), fmt.Sprintf("--skip=%d", q.Skip)})
	if date, _ := since("since", q.Since); date != "" {
		args = append(args, "--since="+date)
	}
	if date, _ := since("until", q.Until); date != "" {
		args = append(args, "--until="+date)
	}
	if q.Author != "" {
		args = append(args, "--fixed-strings", "--author="+q.Author)
	}
	return limited(append(args, "--end-of-options", ids[0]), path)
}

// Show asks for one commit and what it changes, of a merge against its first
// parent.
type Show struct {
	Ref, In  string
	NameOnly bool
}

func (q Show) Tool() string   { return "show" }
func (q Show) Refs() []string { return []string{orHead(q.Ref)} }
func (q Show) Path() string   { return q.In }
func (q Show) Worktree() bool { return false }
func (q Show) Check() error   { return Ref("ref", orHead(q.Ref)) }

// Args implements Query.
func (q Show) Args(ids []string, path string) []string {
	what := patch(3)
	if q.NameOnly {
		what = []string{"--raw"}
	}
	return limited(slices.Concat([]string{"show"}, history, changes, what, []string{headerAll, "--end-of-options", ids[0]}), path)
}

// Diff asks for differences: between Base and Head, between Base and the working
// tree, or, with neither, between the index and the working tree.
type Diff struct {
	Base, Head, In string
	NameOnly, Stat bool
	// Unified is how many lines around a change are shown; three if nil.
	Unified *int
}

func (q Diff) Tool() string   { return "diff" }
func (q Diff) Path() string   { return q.In }
func (q Diff) Worktree() bool { return q.Head == "" }

// Refs implements Query.
func (q Diff) Refs() []string {
	var refs []string
	for _, ref := range []string{q.Base, q.Head} {
		if ref != "" {
			refs = append(refs, ref)
		}
	}
	return refs
}

func (q Diff) around() int {
	if q.Unified == nil {
		return 3
	}
	return *q.Unified
}

// Check implements Query.
func (q Diff) Check() error {
	switch {
	case q.Head != "" && q.Base == "":
		return paddock.Refused(paddock.InvalidRequest, "head is given without base; give both, or base alone for the working tree.")
	case q.NameOnly && q.Stat:
		return paddock.Refused(paddock.InvalidRequest, "The names only and the numbers of lines don't go together; choose one.")
	}
	for name, ref := range map[string]string{"base": q.Base, "head": q.Head} {
		if ref == "" {
			continue
		}
		if err := Ref(name, ref); err != nil {
			return err
		}
	}
	return number("the number of lines around a change", q.around(), 0, MaxUnified)
}

// Args implements Query.
func (q Diff) Args(ids []string, path string) []string {
	what := patch(q.around())
	switch {
	case q.NameOnly:
		what = []string{"--raw"}
	case q.Stat:
		what = []string{"--raw", "--numstat"}
	}
	return limited(slices.Concat([]string{"diff"}, changes, what, []string{"--end-of-options"}, ids), path)
}

// Blame asks which commit each line of a file is from.
type Blame struct {
	Ref, In string
	// Start and End are lines, counted from one; where one is missing the span is
	// of a hundred lines.
	Start, End int
}

func (q Blame) Tool() string   { return "blame" }
func (q Blame) Refs() []string { return []string{orHead(q.Ref)} }
func (q Blame) Path() string   { return q.In }
func (q Blame) Worktree() bool { return false }

// Span returns the first line and the last.
func (q Blame) Span() (start, end int) {
	switch {
	case q.Start == 0 && q.End == 0:
		return 1, defaultSpan
	case q.Start == 0:
		return max(1, q.End-defaultSpan+1), q.End
	case q.End == 0:
		return q.Start, q.Start + defaultSpan - 1
	}
	return q.Start, q.End
}

// Check implements Query.
func (q Blame) Check() error {
	if q.In == "" {
		return paddock.Refused(paddock.InvalidRequest, "path is missing; blame is of one file.")
	}
	start, end := q.Span()
	err := firstOf(Ref("ref", orHead(q.Ref)), number("the first line", start, 1, MaxSkip), number("the last line", end, 1, 2*MaxSkip))
	if err == nil && (end < start || end-start >= MaxSpan) {
		err = paddock.Refused(paddock.InvalidRequest, "Lines %d to %d were asked for; want at most %d, the first not after the last.", start, end, MaxSpan)
	}
	return err
}

// Args implements Query. Blame knows no --end-of-options; before its -- there is
// nothing but our own words and an object id. Files of revisions to ignore that
// the configuration names would be read before a setting of ours could clear
// them: the option forgets them unread.
func (q Blame) Args(ids []string, path string) []string {
	start, end := q.Span()
	return limited([]string{"blame", "--porcelain", "--no-progress", "--no-textconv", "--no-ignore-revs-file", "--encoding=UTF-8", fmt.Sprintf("-L%d,%d", start, end), ids[0]}, path)
}

// MergeBase asks for the best common ancestor of two revisions.
type MergeBase struct{ Base, Head string }

func (q MergeBase) Tool() string   { return "merge_base" }
func (q MergeBase) Refs() []string { return []string{q.Base, q.Head} }
func (q MergeBase) Path() string   { return "" }
func (q MergeBase) Worktree() bool { return false }
func (q MergeBase) Check() error   { return firstOf(Ref("base", q.Base), Ref("head", q.Head)) }

// Args implements Query.
func (q MergeBase) Args(ids []string, _ string) []string {
	return append([]string{"merge-base", "--end-of-options"}, ids...)
}

// ListFiles asks for the files that the index holds.
type ListFiles struct{ In string }

func (q ListFiles) Tool() string   { return "ls_files" }
func (q ListFiles) Refs() []string { return nil }
func (q ListFiles) Path() string   { return q.In }
func (q ListFiles) Worktree() bool { return false }
func (q ListFiles) Check() error   { return nil }

// Args implements Query. Behind --end-of-options a -- would be a file's name to
// this command, so -- alone ends its options.
func (q ListFiles) Args(_ []string, path string) []string {
	return limited([]string{"ls-files", "-z", "--cached", "--stage"}, path)
}
