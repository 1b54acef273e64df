//go:build linux

package git

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/git/query"
	"paddock/internal/testproc"
)

// What is told of an honest repository is what git itself tells.
func TestHonestRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q", "-b", "main")
	w.write("plain.txt", "a\nb\n")
	w.write("line\nbreak \"quoted\".txt", "x\n")
	w.write("grüße.txt", "hallo\n")
	w.write("lat\xedn.txt", "ol\xe9\n")
	w.write("binary", "a\x00b\x01")
	w.write("old name", strings.Repeat("the same line\n", 20))
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first\n\nwith a body: ä\n")
	w.git("branch", "side")
	w.git("mv", "old name", "new\tname")
	w.write("plain.txt", "a\nB\nc\n@@ -1 +1 @@\ndiff --git a/x b/x")
	w.write("binary", "a\x00b\x02")
	must(t, os.Remove(w.root+"/grüße.txt"))
	must(t, os.Symlink("plain.txt", w.root+"/grüße.txt"))
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "second")
	w.git("switch", "-q", "side")
	w.write("side.txt", "s\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "on the side")
	w.git("switch", "-q", "main")
	w.git("merge", "-q", "--no-ff", "-m", "merge", "side")

	log := w.ask(query.Log{Format: "stat"})
	if got := strings.Fields(w.git("log", "--format=%H")); len(got) != len(log.Commits) || log.Branch != "main" {
		t.Fatalf("%d commits of %q, git has %d", len(log.Commits), log.Branch, len(got))
	}
	for i, id := range strings.Fields(w.git("log", "--format=%H")) {
		c := log.Commits[i]
		if c.ID != id || c.Author.Name != "Ada" || c.Committer.Email != "bob@example.org" || c.Author.Date != "2026-03-01T10:00:00+02:00" {
			t.Errorf("commit %+v, want %s", c, id)
		}
	}
	if m := log.Commits[0]; len(m.Parents) != 2 || m.Message != "merge" || len(m.Files) != 1 || m.Files[0].Path != "side.txt" {
		t.Errorf("the merge is %+v", m)
	}
	if first := log.Commits[len(log.Commits)-1]; first.Message != "first\n\nwith a body: ä" || len(first.Files) != 6 {
		t.Errorf("the first commit is %+v", first)
	}

	diff := w.ask(query.Diff{Base: "side~1", Head: "main~1"})
	byStatus := map[string]string{}
	for _, f := range diff.Files {
		byStatus[f.Status] += f.Path + ";"
		switch {
		case f.Path == "binary" && (!f.Binary || f.Hunks != nil):
			t.Errorf("the binary file is %+v", f)
		case f.Status == "R" && f.From != "old name":
			t.Errorf("the renamed file is %+v", f)
		case f.Path == "plain.txt" && (len(f.Hunks) != 1 || f.Hunks[0].OldLines != 2 || f.Hunks[0].NewLines != 5):
			t.Errorf("the changed file is %+v", f)
		}
	}
	if got := fmt.Sprint(byStatus); got != "map[M:binary;plain.txt; R:new\tname; T:grüße.txt;]" {
		t.Error(got)
	}
	// A hunk's place in the output is where it is.
	out := w.text(diff)
	for _, f := range diff.Files {
		for _, h := range f.Hunks {
			if part := out[h.Offset : h.Offset+h.Length]; !strings.HasPrefix(part, "@@ -") || f.Path == "plain.txt" && !strings.HasSuffix(part, "\\ No newline at end of file\n") {
				t.Errorf("%s: %q", f.Path, part)
			}
		}
	}

	var names []string
	for _, e := range w.ask(query.ListFiles{}).Entries {
		name := e.Path
		if e.Raw != "" {
			raw, err := base64.StdEncoding.DecodeString(e.Raw)
			must(t, err)
			name = string(raw)
		}
		names = append(names, name)
	}
	if want := strings.Split(strings.TrimSuffix(w.git("ls-files", "-z"), "\x00"), "\x00"); !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}

	blame := w.ask(query.Blame{In: "plain.txt"})
	var text []string
	for _, l := range blame.Lines {
		text = append(text, l.Commit[:7]+" "+l.Text)
	}
	first, second := w.git("rev-parse", "--short=7", "side~1")[:7], w.git("rev-parse", "--short=7", "main~1")[:7]
	if want := []string{first + " a", second + " B", second + " c", second + " @@ -1 +1 @@", second + " diff --git a/x b/x"}; !slices.Equal(text, want) {
		t.Errorf("%q, want %q", text, want)
	}

	show := w.ask(query.Show{Ref: "main^1", In: "plain.txt"})
	if len(show.Commits) != 1 || show.Commits[0].Message != "second" || len(show.Commits[0].Files) != 1 || len(show.Commits[0].Files[0].Hunks) != 1 {
		t.Errorf("%+v", show.Commits)
	}
	base := w.ask(query.MergeBase{Base: "main~1", Head: "side"})
	if want := strings.TrimSpace(w.git("merge-base", "main~1", "side")); base.Base != want {
		t.Errorf("the base is %q, want %q", base.Base, want)
	}
}

func TestPagesOfALog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q")
	for i := range 5 {
		w.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(i))
	}
	var got []string
	for skip, first := 0, true; first || skip > 0; first = false {
		a := w.ask(query.Log{Count: 2, Skip: skip, Format: "oneline"})
		for _, c := range a.Commits {
			got = append(got, c.Message)
		}
		skip = a.Next
	}
	if fmt.Sprint(got) != "[4 3 2 1 0]" {
		t.Error(got)
	}
}

func TestWhatIsThereAndWhatIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	hasNote(t, w.ask(query.Log{}), "no git repository")
	w.git("init", "-q", "-b", "main")
	for _, q := range []query.Query{query.Log{}, query.Show{}, query.Blame{In: "a"}} {
		hasNote(t, w.ask(q), "names no commit")
	}
	hasNote(t, w.ask(query.ListFiles{}), "no such file")
	w.commit()
	hasNote(t, w.ask(query.Log{In: "never"}), "No commit is there")
	hasNote(t, w.ask(query.Blame{In: "never"}), "no file of that path")
	hasNote(t, w.ask(query.Blame{In: "a.txt", Start: 50}), "fewer lines")
	hasNote(t, w.ask(query.Diff{Base: "HEAD", Head: "HEAD"}), "Nothing differs")
	_, err := w.try(query.Show{Ref: "nowhere"})
	refused(t, err, paddock.RevisionInvalid)
	w.git("checkout", "-q", "--", ".")
	w.git("switch", "-q", "--orphan", "other")
	w.git("commit", "-q", "--allow-empty", "-m", "alone")
	a := w.ask(query.MergeBase{Base: "main", Head: "other"})
	if hasNote(t, a, "no common ancestor"); a.OK || *a.ExitCode != 1 {
		t.Errorf("%+v", a)
	}
	w.git("switch", "-q", "--detach")
	if a := w.ask(query.Log{}); !a.Detached || a.Branch != "" || len(a.Commits) != 1 {
		t.Errorf("%+v", a)
	}
}

// Kinds of repositories that work, or say why they don't.
func TestKindsOfRepositories(t *testing.T) {
	t.Parallel()
	t.Run("bare", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		must(t, os.Rename(w.root, w.base+"/work"))
		w.root = w.base + "/work"
		w.commit()
		w.git("clone", "-q", "--bare", ".", w.base+"/root")
		w.root = w.base + "/root"
		if a := w.ask(query.Log{}); !a.Bare || len(a.Commits) != 2 {
			t.Errorf("%+v", a)
		}
		hasNote(t, w.ask(query.Diff{}), "Give base and head")
		hasNote(t, w.ask(query.Status{}), "bare")
		hasNote(t, w.ask(query.Grep{Pattern: "one"}), "Give the revision")
		for _, q := range []query.Query{query.Show{}, query.Blame{In: "a.txt"}, query.Grep{Pattern: "one", Ref: "HEAD"}, query.Branches{}, query.Cat{In: "a.txt"}} {
			if a := w.ask(q); !a.OK {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
	})
	t.Run("SHA-256", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		w.git("init", "-q", "--object-format=sha256")
		w.commit()
		for _, q := range questions() {
			if a := w.ask(q); !a.OK {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
		if a := w.ask(query.Log{}); len(a.Commits[0].ID) != 64 {
			t.Error(a.Commits[0].ID)
		}
	})
	t.Run("a worktree elsewhere", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		root := w.root
		w.root = w.base + "/main"
		must(t, os.Mkdir(w.root, 0o755))
		w.commit()
		w.git("worktree", "add", "-q", root, "-b", "other")
		_, err := w.try(query.Log{})
		refused(t, err, paddock.RepositoryRefused)
	})
	t.Run("a worktree inside", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		root := w.root
		w.root = w.root + "/main"
		must(t, os.Mkdir(w.root, 0o755))
		w.commit()
		w.git("clone", "-q", "--bare", ".", root+"/.bare")
		w.root = root + "/.bare"
		w.git("worktree", "add", "-q", root+"/tree", "main")
		w.root = root
		must(t, errorsOf(os.Rename(root+"/tree/.git", root+"/.git"), os.Rename(root+"/tree/a.txt", root+"/a.txt")))
		for _, q := range questions() {
			if a := w.ask(q); !a.OK || a.Bare || a.Branch != "main" {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
	})
	t.Run("partial", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		root := w.root
		w.root = w.base + "/main"
		must(t, os.Mkdir(w.root, 0o755))
		w.commit()
		w.git("config", "uploadpack.allowFilter", "true")
		w.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+w.root, root)
		w.root = root
		if a := w.ask(query.Log{}); len(a.Commits) != 2 || !a.Partial {
			t.Errorf("%+v", a)
		}
		if a := w.ask(query.Branches{}); len(a.Refs) != 1 || a.Refs[0].Upstream != "origin/main" {
			t.Errorf("%+v", a)
		}
		hasNote(t, w.ask(query.Cat{In: "a.txt"}), "isn't in this clone")
		for _, q := range []query.Query{query.Show{}, query.Grep{Pattern: "one", Ref: "HEAD"}} {
			a := w.ask(q)
			if hasNote(t, a, "partial clone"); a.OK && len(a.Matches) == 0 {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
	})
	t.Run("shallow", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		root := w.root
		w.root = w.base + "/main"
		must(t, os.Mkdir(w.root, 0o755))
		w.commit()
		w.git("clone", "-q", "--depth=1", "file://"+w.root, root)
		if a := w.ask(query.Log{}); len(a.Commits) != 1 || !a.Shallow {
			t.Errorf("%+v", a)
		}
		for _, q := range []query.Query{query.Status{}, query.Grep{Pattern: "one"}, query.Branches{}, query.Cat{In: "a.txt"}} {
			if a := w.ask(q); !a.OK {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
	})
	t.Run("somebody else's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a repository to somebody")
		}
		w := newWorld(t, paddock.Off)
		w.commit()
		must(t, os.Lchown(w.root+"/.git", 4321, 4321))
		must(t, os.Lchown(w.root, 4321, 4321))
		for _, q := range questions() {
			if a := w.ask(q); !a.OK {
				t.Errorf("%s: %+v", q.Tool(), a)
			}
		}
	})
	t.Run("a directory of one", func(t *testing.T) {
		w := newWorld(t, paddock.Off)
		root := w.root
		w.root = w.base
		w.git("init", "-q")
		w.write("above.txt", secret)
		w.git("add", "above.txt")
		w.git("commit", "-q", "-m", secret)
		w.root = root
		for _, q := range questions() {
			if a := w.ask(q); strings.Contains(w.everything(a), secret) || a.Run != "" {
				t.Errorf("%s tells of what is above the root: %+v", q.Tool(), a)
			}
		}
	})
}

// Contained as the policy says, the tools tell the same.
func TestEveryLevel(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, level)
			w.commit()
			for _, q := range questions() {
				a := w.ask(q)
				if !a.OK || len(a.Commits)+len(a.Files)+len(a.Lines)+len(a.Entries)+len(a.Base)+len(a.Changes)+len(a.Matches)+len(a.Counts)+len(a.Refs) == 0 && a.Content == nil {
					t.Errorf("%s: %+v", q.Tool(), a)
				}
				run, err := w.exec.Run(t.Context(), a.Run)
				must(t, err)
				if run.Containment != level || level != paddock.Off && run.Enforced.Network != "none" {
					t.Errorf("%s ran at %s with network %s", q.Tool(), run.Containment, run.Enforced.Network)
				}
			}
		})
	}
}

// The section permits git to the git tools and to nobody else.
func TestTheSectionWidensNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	req := paddock.Request{Principal: alice, Door: paddock.DoorGo, Command: paddock.Command{Argv: []string{"git", "log"}}}
	if r := w.explain(req).Refusal(); r == nil || r.Code != paddock.ExecutableNotAllowed {
		t.Errorf("%v", r)
	}
	req.Room = "other"
	if r := w.explain(req).Refusal(); r == nil || r.Code != paddock.GitNotAllowed {
		t.Errorf("%v", r)
	}
	req.Room, req.Command.Argv = Name, []string{"sh", "-c", "true"}
	if r := w.explain(req).Refusal(); r == nil || r.Code != paddock.ExecutableNotAllowed {
		t.Errorf("%v", r)
	}
	_, err := w.room.Ask(t.Context(), Ask{Principal: alice, Door: paddock.DoorGo, Root: w.outside, Query: query.Log{}})
	refused(t, err, paddock.CwdOutsideRoot)
	must(t, os.Mkdir(w.root+"/sub", 0o755))
	_, err = w.room.Ask(t.Context(), Ask{Principal: alice, Door: paddock.DoorGo, Root: "sub", Query: query.Log{}})
	refused(t, err, paddock.PathOutsideRoot)
}

// An ordinary user has all of it, too.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as one")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, errorsOf(os.Chmod(filepath.Dir(base), 0o755), os.Chown(base, testproc.Nobody, testproc.Nobody)))
	cmd := testproc.Self(t, "-test.run=^(TestEveryLevel|TestStatusWritesNothing|TestKindsOfRepositories|TestTheRootIsReadOnly|TestGrepReadsNothingBehindLinks|TestCat|TestOwnFilesThatNobodyMayRead)$", "-test.timeout=4m")
	testproc.AsUser(t, cmd, testproc.Nobody)
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "TMPDIR="+base, "HOME="+base, stageOf+"="+testproc.Build(t, "paddock/cmd/paddock-stage"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
