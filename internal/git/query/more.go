package query

import (
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock"
)

// The bounds of what is asked below.
const (
	MaxPattern = 1000
	MaxContext = 50
	MaxRefs    = 1000

	defaultRefs = 100
	mostSize    = 10_000 // of an expression
)

// Status asks what differs between HEAD, the index and the working tree, and how
// the branch stands to what it follows.
type Status struct {
	In string
	// Untracked is normal (the default: a directory without tracked files is one
	// entry), all or no.
	Untracked string
}

// Untracked are the ways in which a status tells of files that aren't tracked.
var Untracked = []string{"normal", "all", "no"}

func (q Status) Tool() string   { return "status" }
func (q Status) Refs() []string { return nil }
func (q Status) Path() string   { return q.In }
func (q Status) Worktree() bool { return true }

// Check implements Query.
func (q Status) Check() error {
	if q.Untracked != "" && !slices.Contains(Untracked, q.Untracked) {
		return paddock.Refused(paddock.InvalidRequest, "untracked is %.40q; want %s.", q.Untracked, strings.Join(Untracked, ", "))
	}
	return nil
}

// Args implements Query. Submodules aren't entered: git would run in them by
// their own settings.
func (q Status) Args(_ []string, path string) []string {
	untracked := q.Untracked
	if untracked == "" {
		untracked = Untracked[0]
	}
	return limited([]string{
		"status", "--porcelain=v2", "-z", "--branch", "--ahead-behind", "--find-renames", "--ignore-submodules=dirty", "--ignored=no", "--untracked-files=" + untracked,
	}, path)
}

// Grep asks for lines that match, in the files of a commit or, without Ref, in the
// tracked files of the working tree.
type Grep struct {
	Ref, In, Pattern string
	// Fixed takes the pattern as it is and not as a regular expression; IgnoreCase
	// takes letters of ASCII for the same; Word wants it to be a word.
	Fixed, IgnoreCase, Word bool
	// Before and After are lines around each match.
	Before, After int
	// Count asks for the files and how many lines match, not for the lines.
	Count bool
}

func (q Grep) Tool() string   { return "grep" }
func (q Grep) Path() string   { return q.In }
func (q Grep) Worktree() bool { return q.Ref == "" }

// Refs implements Query.
func (q Grep) Refs() []string {
	if q.Ref == "" {
		return nil
	}
	return []string{q.Ref}
}

// Context says whether lines around matches are asked for.
func (q Grep) Context() bool { return !q.Count && q.Before+q.After > 0 }

// Prefix is what git writes before each path, for the object ids of Refs.
func (q Grep) Prefix(ids []string) string {
	if q.Ref == "" {
		return ""
	}
	return ids[0] + ":"
}

// foreign returns a part of an expression that others have and POSIX hasn't, or
// means otherwise; "" for none.
func foreign(pattern string) string {
	within := 0 // where the bracket began that we are in, counted from one
	for i := 0; i < len(pattern); i++ {
		next := pattern[i:min(i+2, len(pattern))]
		switch c := pattern[i]; {
		case c == '\\' && within > 0, c == '\\' && len(next) == 2 && (next[1] >= utf8.RuneSelf || isWord(next[1]) && !strings.Contains("wWsSbB", next[1:])):
			return next
		case c == '\\':
			i++
		case within > 0 && c == '[' && len(next) == 2 && strings.Contains(":.=", next[1:]): // a class, as [:alpha:]
			end := strings.Index(pattern[i+2:], next[1:]+"]")
			if next != "[:" || end < 0 {
				return next
			}
			i += 2 + end + 1
		case within > 0 && c == ']' && i > within:
			within = 0
		case within > 0:
		case c == '[':
			if within = i + 1; strings.HasPrefix(pattern[i+1:], "^") {
				within++
			}
		case next == "(?", strings.ContainsRune("*+?}", rune(c)) && len(next) == 2 && strings.Contains("*+?{", next[1:]):
			return next
		}
	}
	return ""
}

// size is about how large an expression is with its repetitions written out, as
// git's library does.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Check implements Query. An expression must be one of RE2 as well as one of
// POSIX: that bounds what it costs.
func (q Grep) Check() error {
	invalid := func(format string, args ...any) error {
		return paddock.Refused(paddock.InvalidRequest, format, args...)
	}
	switch {
	case q.Pattern == "":
		return invalid("pattern is missing; say what to look for.")
	case len(q.Pattern) > MaxPattern || !utf8.ValidString(q.Pattern) || strings.ContainsAny(q.Pattern, "\x00\n"):
		return invalid("pattern must be one line of at most %d bytes of UTF-8 without NUL.", MaxPattern)
	}
	if !q.Fixed {
		if at := foreign(q.Pattern); at != "" {
			return invalid("pattern has %q, which POSIX doesn't know or takes for something else; write [0-9] for a digit, and set fixed for text that is to be found as it is.", at)
		}
		re, err := syntax.Parse(q.Pattern, syntax.Perl)
		if err != nil {
			return invalid("pattern isn't a regular expression (%v); set fixed for text that is to be found as it is.", err)
		}
		if size(re) > mostSize {
			return invalid("pattern repeats so much that it would be too large; ask for less and look at what is found.")
		}
	}
	err := firstOf(number("before", q.Before, 0, MaxContext), number("after", q.After, 0, MaxContext))
	if err == nil && q.Ref != "" {
		err = Ref("ref", q.Ref)
	}
	return err
}

// Args implements Query. What follows -e is the pattern, whatever it begins with.
// Behind the pattern this command takes no --end-of-options from old versions of
// git; there is an object id at most. With more threads than one git would hold
// all that a file matches in memory before it prints.
func (q Grep) Args(ids []string, path string) []string {
	args := []string{"grep", "--null", "--full-name", "--no-color", "--no-textconv", "--no-recurse-submodules", "--threads=1", "-I"}
	if q.Count {
		args = append(args, "--count")
	} else {
		args = append(args, "--line-number", "--column", "--no-heading", "--no-break", fmt.Sprintf("--before-context=%d", q.Before), fmt.Sprintf("--after-context=%d", q.After))
	}
	for flag, set := range map[string]bool{"--fixed-strings": q.Fixed, "--extended-regexp": !q.Fixed, "--ignore-case": q.IgnoreCase, "--word-regexp": q.Word} {
		if set {
			args = append(args, flag)
		}
	}
	slices.Sort(args[1:])
	return limited(slices.Concat(args, []string{"-e", q.Pattern}, ids), path)
}

// Branches asks for branches and tags, newest first.
type Branches struct {
	// Kind is branches, tags, remotes (branches elsewhere, as they were known
	// last) or, the default, both of the first.
	Kind string
	// Count is the most that are told of, 100 if zero.
	Count int
}

// Kinds are what can be asked of branches.
var Kinds = []string{"branches", "tags", "remotes"}

func (q Branches) Tool() string   { return "branches" }
func (q Branches) Refs() []string { return nil }
func (q Branches) Path() string   { return "" }
func (q Branches) Worktree() bool { return false }

// Most is how many are asked for.
func (q Branches) Most() int {
	if q.Count == 0 {
		return defaultRefs
	}
	return q.Count
}

// Check implements Query.
func (q Branches) Check() error {
	if q.Kind != "" && !slices.Contains(Kinds, q.Kind) {
		return paddock.Refused(paddock.InvalidRequest, "kind is %.40q; want %s.", q.Kind, strings.Join(Kinds, ", "))
	}
	return number("the count", q.Most(), 1, MaxRefs)
}

// Fields is the form in which branches and tags are asked for; see package parse.
const Fields = "%(refname)%00%(objectname)%00%(*objectname)%00%(HEAD)%00%(creatordate:iso-strict)%00%(upstream)%00%(subject)%00"

// Args implements Query. One more is asked for, to see whether there is more.
func (q Branches) Args([]string, string) []string {
	args := []string{"for-each-ref", "--format=" + Fields, fmt.Sprintf("--count=%d", q.Most()+1), "--sort=refname", "--sort=-creatordate"}
	switch q.Kind {
	case "branches":
		return append(args, "refs/heads")
	case "tags":
		return append(args, "refs/tags")
	case "remotes":
		return append(args, "refs/remotes")
	}
	return append(args, "refs/heads", "refs/tags")
}

// Cat asks for what a file holds at a commit.
type Cat struct {
	Ref, In string
	// Offset is the first byte, Line (counted from one) the first line instead;
	// Limit is the most characters, Lines the most lines, both unbounded if zero
	// but for the bounds of a page.
	Offset      int64
	Limit       int
	Line, Lines int64
	// Raw asks for the bytes of what isn't text, too.
	Raw bool
}

func (q Cat) Tool() string   { return "cat" }
func (q Cat) Refs() []string { return []string{orHead(q.Ref)} }
func (q Cat) Path() string   { return q.In }
func (q Cat) Worktree() bool { return false }

// Check implements Query.
func (q Cat) Check() error {
	switch {
	case q.In == "":
		return paddock.Refused(paddock.InvalidRequest, "path is missing; say which file.")
	case q.Offset > 0 && q.Line > 0:
		return paddock.Refused(paddock.InvalidRequest, "offset and line both say where to begin; give one of them.")
	case q.Offset < 0:
		return paddock.Refused(paddock.InvalidRequest, "offset is %d; want at least 0.", q.Offset)
	}
	return firstOf(Ref("ref", orHead(q.Ref)), number("limit", q.Limit, 0, paddock.MaxPage), number("line", int(q.Line), 0, MaxSkip), number("lines", int(q.Lines), 0, MaxSkip))
}

// Args implements Query: first it is found out what is there.
func (q Cat) Args(ids []string, path string) []string {
	return limited([]string{"ls-tree", "-z", "--long", "--full-tree", ids[0]}, path)
}

// Unsized are the words for the same without the size, which git can't tell of an
// object that isn't here.
func (q Cat) Unsized(ids []string, path string) []string {
	return limited([]string{"ls-tree", "-z", "--full-tree", ids[0]}, path)
}

// Batch are the words of one process that finds out what is there, and reads it; what it
// is asked is Batched. Git before 2.36 doesn't know it.
var Batch = []string{"cat-file", "--batch-command"}

// Batched is a question a line: which commit the revision names, what the directory of
// the path holds, once more which commit, since a branch can move in between, and
// the file. Empty where a line can't hold the path. A revision has neither spaces nor line
// breaks, and here nothing is a flag.
func (q Cat) Batched(name string) string {
	if name == "" || strings.ContainsAny(name, "\r\n") || Ref("ref", orHead(q.Ref)) != nil {
		return ""
	}
	commit, dir := orHead(q.Ref)+"^{commit}", strings.TrimPrefix(path.Dir(name), ".")
	return fmt.Sprintf("info %[1]s\ncontents %[1]s:%[2]s\ninfo %[1]s\ncontents %[1]s:%[3]s\n", commit, dir, name)
}

// Blob are the words that print an object that Args told of.
func (q Cat) Blob(id string) []string { return []string{"cat-file", "blob", id} }
