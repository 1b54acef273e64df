//go:build linux

package git

import (
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
)

func told(changes []present.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s %s>%s [%s%s] %s", c.Kind, c.From, c.Path, c.Staged, c.Unstaged, c.Conflict))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q", "-b", "main")
	w.write("ünï.txt", "u\n")
	a := w.ask(query.Status{})
	if hasNote(t, a, "no commit yet"); a.Branch != "main" || a.Head != "" || told(a.Changes) != "untracked >ünï.txt [] " {
		t.Errorf("%+v", a)
	}
	w.commit()
	w.git("checkout", "-q", "--", ".")
	if a := w.ask(query.Status{}); len(a.Changes) != 0 || a.Head == "" || a.Upstream != nil || !a.OK {
		t.Errorf("%+v", a)
	}
	w.git("config", "branch.main.remote", ".")
	w.git("config", "branch.main.merge", "refs/heads/up")
	hasNote(t, w.ask(query.Status{}), "nothing is fetched")
	w.git("branch", "up", "HEAD~1")

	w.write("a.txt", "one\nTWO\nthree\nfour\n")
	w.git("add", "a.txt")
	w.write("a.txt", "one\nTWO\nthree\nfour\nfive\n")
	w.git("mv", "ünï.txt", "new\nname \"x\"")
	w.write("dir/x", "x")
	w.write("dir/y", "y")
	w.write("lat\xedn", "l")
	a = w.ask(query.Status{})
	if u := a.Upstream; u == nil || u.Ref != "up" || *u.Ahead != 1 || *u.Behind != 0 {
		t.Errorf("%+v", u)
	}
	if want := "changed >a.txt [MM] \nrenamed ünï.txt>new\nname \"x\" [R] \nuntracked >dir/ [] \nuntracked >lat\uFFFDn [] "; told(a.Changes) != want {
		t.Errorf("%q, want %q", told(a.Changes), want)
	}
	for _, c := range a.Changes {
		if raw, err := base64.StdEncoding.DecodeString(c.Raw); c.Raw != "" && (err != nil || string(raw) != "lat\xedn") {
			t.Errorf("%+v", c)
		}
	}
	if got := told(w.ask(query.Status{Untracked: "all", In: "dir"}).Changes); got != "untracked >dir/x [] \nuntracked >dir/y [] " {
		t.Errorf("%q", got)
	}
	if got := told(w.ask(query.Status{Untracked: "no", In: "dir"}).Changes); got != "" {
		t.Errorf("%q", got)
	}
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "third")
	w.git("switch", "-q", "-c", "side", "HEAD~1")
	w.write("a.txt", "other\n")
	w.git("commit", "-q", "-a", "-m", "side")
	if _, err := w.plain("merge", "main"); err == nil {
		t.Fatal("there is no conflict")
	}
	if a := w.ask(query.Status{In: "a.txt"}); told(a.Changes) != "conflict >a.txt [] UU" {
		t.Errorf("%+v", a.Changes)
	}
	w.git("merge", "--abort")
	w.git("switch", "-q", "--detach")
	if a := w.ask(query.Status{}); !a.Detached || a.Branch != "" || a.Head != strings.TrimSpace(w.git("rev-parse", "HEAD")) {
		t.Errorf("%+v", a)
	}
}

// A status leaves the index as it is, where plain git writes it anew.
func TestStatusWritesNothing(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Off, paddock.Full} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, level)
			w.commit()
			w.git("checkout", "-q", "--", ".")
			w.git("config", "core.untrackedCache", "true")
			at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			must(t, os.Chtimes(w.root+"/a.txt", at, at)) // its times in the index are wrong now
			index := func() string {
				text, err := os.ReadFile(w.root + "/.git/index")
				must(t, err)
				return string(text)
			}
			before := index()
			if a := w.ask(query.Status{}); !a.OK || len(a.Changes) != 0 {
				t.Errorf("%+v", a)
			}
			if index() != before {
				t.Error("the index was written")
			}
			w.git("status")
			if index() == before {
				t.Error("plain git doesn't write the index either, so this shows nothing")
			}
		})
	}
}

func found(matches []present.Match) string {
	var all []string
	for _, m := range matches {
		mark := ":"
		if m.Context {
			mark = "-"
		}
		all = append(all, fmt.Sprintf("%s%s%d%s%s", m.Path, mark, m.Number, mark, m.Text))
	}
	return strings.Join(all, "|")
}

func TestGrep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q", "-b", "main")
	w.write("--\nodd", "needle\nb\nc\nneedle\n")
	w.write("sub/text", "a\nneedle 1\nb\nc\nd\ne\nNeedle -x (2)\n")
	w.write("binary", "needle\x00")
	w.write("lat\xedn", "needle \xed\n")
	w.write("long", "needle"+strings.Repeat("x", 5000)+"\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	w.write("sub/text", "a\nneedle 1\nb\nc\nd\ne\nneedle changed\n")
	w.write("untracked", "needle\n")

	if got := found(w.ask(query.Grep{Pattern: "needle", In: "sub"}).Matches); got != "sub/text:2:needle 1|sub/text:7:needle changed" {
		t.Error(got)
	}
	if got := found(w.ask(query.Grep{Ref: "HEAD", Pattern: "needle", In: "sub", Before: 1, After: 1}).Matches); got != "sub/text-1-a|sub/text:2:needle 1|sub/text-3-b" {
		t.Error(got)
	}
	if got := found(w.ask(query.Grep{Ref: "main", Pattern: "^n.*[0-9]$", IgnoreCase: true, Word: true}).Matches); got != "sub/text:2:needle 1" {
		t.Error(got)
	}
	for _, ref := range []string{"", "HEAD"} { // marks of groups aren't names, and names aren't marks
		if got := found(w.ask(query.Grep{Ref: ref, Pattern: "needle [1c]|^needle$", After: 1}).Matches); !strings.HasPrefix(got, "--\nodd:1:needle|--\nodd-2-b|--\nodd:4:needle|sub/text:2:needle 1|sub/text-3-b") {
			t.Errorf("%q", got)
		}
	}
	a := w.ask(query.Grep{Pattern: "-x (2)", Fixed: true, Ref: "HEAD"})
	if len(a.Matches) != 1 || a.Matches[0].Column != 8 {
		t.Errorf("%+v", a.Matches)
	}
	for _, m := range w.ask(query.Grep{Pattern: "needle"}).Matches {
		if m.Path == "binary" || m.Path == "untracked" || strings.HasPrefix(m.Path, "lat") && (m.Raw == "" || m.PathRaw == "") || m.Path == "long" && !m.Cut {
			t.Errorf("%+v", m)
		}
	}
	var counts []string
	for _, c := range w.ask(query.Grep{Ref: "HEAD", Pattern: "needle", Count: true}).Counts {
		counts = append(counts, fmt.Sprint(c.Path, c.Lines))
	}
	if got := strings.Join(counts, "|"); got != "--\nodd2|lat\uFFFDn1|long1|sub/text1" {
		t.Errorf("%q", got)
	}
	for _, pattern := range []string{"nothing of the sort", "--open-files-in-pager=" + w.helper, "-Ox"} {
		a := w.ask(query.Grep{Pattern: pattern})
		if hasNote(t, a, "Nothing matches"); *a.ExitCode != 1 || a.Stderr != "" {
			t.Errorf("%+v", a)
		}
	}
}

// Where a directory that git tracks files in has become a link, plain git reads
// what lies behind it.
func TestGrepReadsNothingBehindLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.write("dir/sub/secret.txt", "nothing\n")
	w.git("add", "dir")
	w.git("commit", "-q", "-m", "third")
	must(t, os.RemoveAll(w.root+"/dir"))
	must(t, os.Mkdir(w.outside+"/sub", 0o755))
	must(t, os.Rename(w.outside+"/secret.txt", w.outside+"/sub/secret.txt"))
	must(t, os.Symlink("../outside", w.root+"/dir"))
	if out := w.git("grep", "-e", "."); !strings.Contains(out, secret) {
		t.Errorf("plain git reads nothing outside either, so this shows nothing: %s", out)
	}
	for _, q := range []query.Query{query.Grep{Pattern: "."}, query.Grep{Pattern: ".", In: "dir"}, query.Grep{Pattern: ".", Count: true}, query.Diff{}} {
		_, err := w.try(q)
		refused(t, err, paddock.PathOutsideRoot)
	}
	if a := w.ask(query.Grep{Pattern: ".", In: "a.txt"}); len(a.Matches) != 4 {
		t.Errorf("%+v", a)
	}
	for _, q := range []query.Query{query.Grep{Pattern: ".", Ref: "HEAD"}, query.Status{}, query.Diff{In: "a.txt"}} {
		if a := w.ask(q); strings.Contains(w.everything(a), secret) {
			t.Errorf("%s tells of what is outside", q.Tool())
		}
	}
}

// By containment alone plain git reads nothing behind such a link.
func TestContainmentHoldsPlainGrep(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, level)
			w.commit()
			w.write("dir/secret.txt", "nothing\n")
			w.git("add", "dir")
			must(t, errorsOf(os.RemoveAll(w.root+"/dir"), os.Symlink("../outside", w.root+"/dir")))
			run, err := w.exec.Start(t.Context(), paddock.Request{
				Principal: alice, Door: paddock.DoorGo, Room: Name,
				Command: paddock.Command{Argv: []string{"git", "-c", "safe.directory=*", "grep", "-e", "."}, Dir: w.root},
			})
			must(t, err)
			run, err = w.exec.Wait(t.Context(), run.ID)
			must(t, err)
			var b strings.Builder
			must(t, w.exec.Follow(t.Context(), run.ID, paddock.Stdout, 0, &b))
			if !strings.Contains(b.String(), "a.txt") || strings.Contains(b.String(), secret) {
				t.Errorf("it found %q (%s)", b.String(), run.State)
			}
		})
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q", "-b", "main")
	hasNote(t, w.ask(query.Branches{}), "There is none")
	w.commit()
	w.git("branch", "-q", "old/ä", "HEAD~1")
	w.git("branch", "-q", "--set-upstream-to=old/ä", "main")
	w.git("update-ref", "refs/remotes/origin/main", "HEAD")
	w.git("tag", "light")
	w.git("tag", "-a", "-m", "a release\n\nwith a body", "heavy")
	head := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	byName := map[string]present.Ref{}
	for _, r := range w.ask(query.Branches{}).Refs {
		byName[r.Kind+" "+r.Name] = r
	}
	if len(byName) != 4 {
		t.Errorf("%+v", byName)
	}
	if r := byName["branch main"]; !r.Current || r.ID != head || r.Subject != "second" || r.Upstream != "old/ä" || r.Date != "2026-03-01T10:00:00+02:00" {
		t.Errorf("%+v", r)
	}
	if r := byName["tag heavy"]; r.Commit != head || r.ID == head || r.Subject != "a release" {
		t.Errorf("%+v", r)
	}
	if r := byName["tag light"]; r.Commit != "" || r.ID != head {
		t.Errorf("%+v", r)
	}
	for kind, want := range map[string]int{"branches": 2, "tags": 2, "remotes": 1} {
		if a := w.ask(query.Branches{Kind: kind}); len(a.Refs) != want {
			t.Errorf("%s: %+v", kind, a.Refs)
		}
	}
	if a := w.ask(query.Branches{Count: 1}); len(a.Refs) != 1 || !a.More {
		t.Errorf("%+v", a)
	}
}

func TestCat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.git("checkout", "-q", "--", ".")
	w.write("dir/text", "eins\nzwei ä\ndrei\n")
	w.write("empty", "")
	w.write("binary", "a\x00b")
	w.write("latin", "gr\xfc\xdfe\n")
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12345\n"
	w.write("big.bin", lfs)
	w.write("notlfs", lfs+"x")
	w.write("tool", "#!/bin/sh\n")
	must(t, os.Chmod(w.root+"/tool", 0o755))
	must(t, os.Symlink("../outside/secret.txt", w.root+"/link"))
	w.nested("mod")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "third")
	w.write("dir/text", "changed\n")

	for _, c := range []struct {
		q                    query.Cat
		kind, text, encoding string
		offset, next         int64
		eof                  bool
		note                 string
	}{
		{query.Cat{In: "dir/text"}, "file", "eins\nzwei ä\ndrei\n", "utf-8", 0, 18, true, ""},
		{query.Cat{In: "a.txt", Ref: "HEAD~2"}, "file", "one\nTWO\nthree\n", "utf-8", 0, 14, true, ""},
		{query.Cat{In: "dir/text", Line: 2, Lines: 1}, "file", "zwei ä\n", "utf-8", 5, 13, false, ""},
		{query.Cat{In: "dir/text", Offset: 13, Limit: 2}, "file", "dr", "utf-8", 13, 15, false, ""},
		{query.Cat{In: "dir/text", Line: 9}, "file", "", "utf-8", 18, 18, true, "ends before"},
		{query.Cat{In: "dir/text", Offset: 500}, "file", "", "utf-8", 18, 18, true, "ends before"},
		{query.Cat{In: "empty"}, "file", "", "utf-8", 0, 0, true, ""},
		{query.Cat{In: "tool", Lines: 5}, "executable", "#!/bin/sh\n", "utf-8", 0, 10, true, ""},
		{query.Cat{In: "binary"}, "file", "", "", 0, 0, false, "binary"},
		{query.Cat{In: "binary", Raw: true}, "file", "a\x00b", "utf-8", 0, 3, true, ""},
		{query.Cat{In: "latin"}, "file", base64.StdEncoding.EncodeToString([]byte("gr\xfc\xdfe\n")), "base64", 0, 6, true, ""},
		{query.Cat{In: "big.bin"}, "file", lfs, "utf-8", 0, int64(len(lfs)), true, "Git LFS"},
		{query.Cat{In: "notlfs", Lines: 1}, "file", "version https://git-lfs.github.com/spec/v1\n", "utf-8", 0, 43, false, ""},
		{query.Cat{In: "link"}, "symlink", "../outside/secret.txt", "utf-8", 0, 21, true, ""},
		{query.Cat{In: "dir"}, "directory", "", "", 0, 0, false, "is a directory"},
		{query.Cat{In: "mod"}, "submodule", "", "", 0, 0, false, "is a submodule"},
	} {
		a := w.ask(c.q)
		got := a.Content
		if got == nil || !a.OK {
			t.Errorf("%+v: %+v", c.q, a)
			continue
		}
		if got.Kind != c.kind || got.Text != c.text || got.Encoding != c.encoding || got.Offset != c.offset || got.Next != c.next || got.EOF != c.eof || got.Path != c.q.In {
			t.Errorf("%+v: %+v", c.q, got)
		}
		if (c.note == "") != (a.Notes == nil) || !strings.Contains(strings.Join(a.Notes, "\n"), c.note) {
			t.Errorf("%+v: %q", c.q, a.Notes)
		}
		if isPointer := c.q.In == "big.bin"; (got.LFS != nil) != isPointer || isPointer && got.LFS.Size != 12345 {
			t.Errorf("%+v: %+v", c.q, got.LFS)
		}
	}
	hasNote(t, w.ask(query.Cat{In: "never"}), "no file of that path")
	hasNote(t, w.ask(query.Cat{In: "."}), "is a directory")
	hasNote(t, w.ask(query.Cat{In: w.root}), "is a directory")
	if a := w.ask(query.Log{In: "link"}); len(a.Commits) != 1 { // a link has a history of its own
		t.Errorf("%+v", a)
	}
	_, err := w.try(query.Cat{In: "../outside/secret.txt"})
	refused(t, err, paddock.PathOutsideRoot)
}
