package query

import (
	"slices"
	"strings"
	"testing"

	"paddock/internal/git/query/command"
)

// Whatever a caller sends, a command has it behind -- or not at all: of a
// revision nothing but an id gets there, and a date in one form.
func FuzzCommand(f *testing.F) {
	f.Add("HEAD~1", "a/b", "3 days ago", 5)
	f.Add("--output=x", "--output=x", "--output=x", -1)
	f.Add("main@{1}", ":(top)", "2026-01-01", 0)
	f.Add("HEAD^{/x}", "../x", "\x00", 501)
	f.Fuzz(func(t *testing.T, ref, name, date string, n int) {
		const id = "1111111111111111111111111111111111111111"
		place := command.Place{Dir: "/r/.git", Worktree: "/r"}
		for _, q := range []Query{
			Log{Ref: ref, In: name, Since: date, Count: n, Skip: n}, Log{Until: date, Author: ref}, Show{Ref: ref, In: name}, Diff{Base: ref, Head: ref, In: name, Unified: &n},
			Diff{Base: ref, In: name}, Blame{Ref: ref, In: name, Start: n, End: n}, MergeBase{Base: ref, Head: ref}, ListFiles{In: name},
		} {
			path, err := Within("/r", q.Path())
			if q.Check() != nil || err != nil {
				continue
			}
			if strings.HasPrefix(path, "/") || path == ".." || strings.HasPrefix(path, "../") {
				t.Fatalf("%q leads to %q", name, path)
			}
			ids := slices.Repeat([]string{id}, len(q.Refs()))
			words := place.Command(q.Args(ids, path), nil)
			end := slices.Index(words, "--")
			for i, w := range words {
				switch {
				case w == path && path != "" && i == len(words)-1 && i == end+1:
				case end >= 0 && i > end:
					t.Errorf("%q stands behind --", w)
				case strings.HasPrefix(w, "--author="):
				case strings.HasPrefix(w, "--since="), strings.HasPrefix(w, "--until="):
					if _, rest, _ := strings.Cut(w, "="); strings.Trim(rest, "0123456789TZ:- abcdefghijklmnopqrstuvwxyz") != "" || strings.HasPrefix(rest, "-") {
						t.Errorf("a date is %q", rest)
					}
				case ref != "" && len(ref) > 6 && w == ref:
					t.Errorf("the revision %q got into the command", ref)
				}
			}
			for _, r := range q.Refs() {
				words := place.Resolve(r)
				if all := place.ResolveAll(q.Refs()); slices.Index(all, "--end-of-options") != len(all)-len(q.Refs())-1 || !slices.Contains(all, words[len(words)-1]) {
					t.Errorf("%q are resolved by %q", q.Refs(), all)
				}
				if last := words[len(words)-1]; words[len(words)-2] != "--end-of-options" || strings.HasPrefix(last, "-") || strings.ContainsAny(last, ": \n\x00*?[\\") || strings.Contains(last, "..") {
					t.Errorf("%q is resolved by %q", r, words)
				}
			}
		}
	})
}

func TestRevisions(t *testing.T) {
	for _, ref := range []string{"HEAD", "main", "feature/x-1", "v1.2.3", "HEAD~3", "HEAD^2~1", "HEAD^^", "@", "@{1}", "main@{upstream}", "v1^{commit}", "v1^{}", strings.Repeat("a", 40), "a_b", "stash@{0}", "user@host", "1.0+dfsg", "é", "日本/x", "fix#12", "wow!", "a=b", "it's", "a%&$(b)", "HEAD^"} {
		if err := Ref("ref", ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for _, ref := range []string{"", "-x", "--all", "^main", "a..b", "a...b", "HEAD:x", ":/x", "HEAD^{/x}", "HEAD^!", "HEAD^@", "HEAD^-", "a b", "a\nb", "a\x00", "a\xff", "a\u202eb", "a\u00a0b", "a\x7f", "a{b", "a@{/x}", "*", "a?", "HEAD^{tree}", strings.Repeat("a", 201), "~1", ".hidden", "/abs"} {
		if Ref("ref", ref) == nil {
			t.Errorf("%q passes", ref)
		}
	}
}

func TestPaths(t *testing.T) {
	for name, want := range map[string]string{"": "", ".": "", "/r": "", "/r/": "", "/r/a": "a", "a//b/": "a/b", "./a": "a", "a/../b": "b", ":(top)": ":(top)", "-x": "-x", "*": "*"} {
		if got, err := Within("/r", name); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"..", "../r", "a/../..", "/", "/rr", "/r/..", "/r/../x", "a\x00", "\xff", strings.Repeat("a", MaxPath+1)} {
		if got, err := Within("/r", name); err == nil {
			t.Errorf("%q passes as %q", name, got)
		}
	}
	if got, err := Within("/", "/etc/x"); err != nil || got != "etc/x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "2026-05-01": "2026-05-01T00:00:00Z", "2026-05-01T12:00:00+02:00": "2026-05-01T10:00:00Z", "3 days ago": "3 days ago", "1 week": "1 weeks ago", "2026-05-01 10:00": "2026-05-01T10:00:00Z",
	} {
		if got, err := since("since", in); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"yesterday", "0 days", "3 days ago --output=x", "2026-13-01", "9999-01-01", "1969-01-01", "3\ndays", "never", "--all"} {
		if got, err := since("since", in); err == nil {
			t.Errorf("%q passes as %q", in, got)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct{ start, end, from, to int }{{0, 0, 1, 100}, {5, 0, 5, 104}, {0, 50, 1, 50}, {0, 500, 401, 500}, {7, 9, 7, 9}} {
		if from, to := (Blame{Start: c.start, End: c.end}).Span(); from != c.from || to != c.to {
			t.Errorf("%d,%d is %d,%d", c.start, c.end, from, to)
		}
	}
	for _, q := range []Blame{{In: "a", Start: 5, End: 4}, {In: "a", Start: 1, End: 1001}, {In: "a", Start: -1}, {}} {
		if q.Check() == nil {
			t.Errorf("%+v passes", q)
		}
	}
}
