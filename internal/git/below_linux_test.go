//go:build linux

package git

import (
	"os"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
)

// below makes a repository with a history above the root and one below it, and returns
// the ids of its commits: one above, one that moves a file of there into the root, one that
// changes it, one above, one of both, and one above at last.
func (w *world) below() (ids []string) {
	w.t.Helper()
	commit := func(message string) {
		w.git("add", "-A")
		w.git("commit", "-q", "-m", message)
		ids = append(ids, strings.TrimSpace(w.git("rev-parse", "HEAD")))
	}
	w.git("init", "-q", "-b", "main")
	w.write("top.txt", secret+"\none\n")
	w.write("other/"+secret+".txt", "one\ntwo\nthree\nfour\nfive\n")
	w.write("svc/neighbor", secret)
	commit(secret + " first")
	w.git("mv", "other/"+secret+".txt", "svc/pay/a.txt")
	w.write("svc/pay/.keep", "")
	commit("moved")
	w.git("tag", "-a", "-m", secret, "noted")
	w.write("svc/pay/a.txt", "one\nTWO\nthree\nfour\nfive\n")
	commit("changed")
	w.write("top.txt", secret+" again\none\n")
	commit(secret + " second")
	w.write("svc/pay/dir/b.txt", "one\n")
	w.write("svc/payment", secret) // which begins as the root does
	commit("both")
	w.write("svc/neighbor", secret+" again")
	commit(secret + " last")
	w.git("branch", "side", "HEAD~2")
	w.write("svc/pay/a.txt", "one\nTWO\nthree\nfour\nfive\nsix\n")
	w.write("svc/pay/new", "x")
	w.write("top.txt", secret+" dirty\none\n")
	return ids
}

// Of a root that is a directory of a repository every tool tells what lies there, by
// names as they are from it, and nothing that lies above: no name, no content, no message
// of a commit that doesn't touch it.
func TestRootBelowTheTop(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorldBelow(t, level)
			ids := w.below()
			asked := func(q query.Query) Answer {
				t.Helper()
				a := w.ask(q)
				if all := w.everything(a); strings.Contains(all, secret) || strings.Contains(all, "neighbor") || strings.Contains(all, "top.txt") || strings.Contains(all, "payment") {
					t.Errorf("%+v tells of what is above the root: %s", q, all)
				}
				return a
			}
			if level != paddock.Standard { // where the same words are asked as in the others
				w.belowHistory(asked, ids)
			}
			w.belowState(asked, ids)
			if level == paddock.Off {
				return
			}
			run, err := w.exec.Run(t.Context(), w.ask(query.Status{}).Run)
			must(t, err)
			if run.Containment != level || run.Enforced.Network != "none" {
				t.Errorf("it ran at %s with network %s", run.Containment, run.Enforced.Network)
			}
		})
	}
}

func (w *world) belowHistory(asked func(query.Query) Answer, ids []string) {
	w.t.Helper()
	messages := func(a Answer) (all []string) {
		for _, c := range a.Commits {
			all = append(all, c.Message)
		}
		return all
	}
	for _, format := range query.Formats {
		if got := messages(asked(query.Log{Format: format})); strings.Join(got, ",") != "both,changed,moved" {
			w.t.Errorf("%s: %q", format, got)
		}
	}
	log := asked(query.Log{Format: "stat", Ref: "main~1"})
	if f := log.Commits[0].Files; len(f) != 1 || f[0].Path != "dir/b.txt" || f[0].Added == nil {
		w.t.Errorf("%+v", f)
	}
	if f := log.Commits[2].Files; len(f) != 2 || f[1].Path != "a.txt" || f[1].Status != "A" || f[1].From != "" { // and not renamed from above
		w.t.Errorf("%+v", f)
	}
	if got := messages(asked(query.Log{In: "dir"})); strings.Join(got, ",") != "both" {
		w.t.Errorf("%q", got)
	}
	if a := asked(query.Log{Count: 1, Skip: 1}); strings.Join(messages(a), ",") != "changed" || a.Next != 2 {
		w.t.Errorf("%+v", a)
	}
	for i, touches := range []bool{false, true, true, false, true, false} {
		a := asked(query.Show{Ref: ids[i]})
		if touches == (len(a.Commits) == 0) || touches && len(a.Commits[0].Files) == 0 || !a.OK {
			w.t.Errorf("commit %d: %+v", i, a)
		}
		if !touches {
			hasNote(w.t, a, "changes nothing there")
		}
	}
	hasNote(w.t, asked(query.Show{}), "changes nothing there")
	hasNote(w.t, asked(query.Show{Ref: "noted~1"}), "changes nothing there")
	if a := asked(query.Show{Ref: "noted", NameOnly: true}); len(a.Commits) != 1 || a.Commits[0].Message != "moved" {
		w.t.Errorf("%+v", a)
	}
	if a := asked(query.Diff{Base: ids[0], Head: ids[5]}); len(a.Files) != 3 || a.Files[1].Path != "a.txt" || a.Files[1].Status != "A" {
		w.t.Errorf("%+v", a.Files)
	}
	hasNote(w.t, asked(query.Diff{Base: ids[4], Head: ids[5]}), "Nothing differs")
	blame := asked(query.Blame{In: "a.txt"})
	if len(blame.Lines) != 5 || blame.Lines[0].Commit != ids[1] || blame.Lines[1].Commit != ids[2] || blame.Lines[0].Path != "a.txt" {
		w.t.Errorf("%+v", blame)
	}
	hasNote(w.t, asked(query.Blame{In: "a.txt", Ref: ids[0]}), "no file of that path")
	if a := asked(query.MergeBase{Base: "side", Head: "main"}); a.Base != ids[3] {
		w.t.Errorf("%+v", a)
	}
	if a := asked(query.Branches{}); len(a.Refs) != 3 || a.Refs[0].Subject != "" {
		w.t.Errorf("%+v", a)
	}
}

func (w *world) belowState(asked func(query.Query) Answer, ids []string) {
	w.t.Helper()
	if got := told(asked(query.Status{}).Changes); got != "changed >a.txt [M] \nuntracked >new [] " {
		w.t.Errorf("%q", got)
	}
	if a := asked(query.Diff{}); len(a.Files) != 1 || a.Files[0].Path != "a.txt" || len(a.Files[0].Hunks) != 1 {
		w.t.Errorf("%+v", a.Files)
	}
	if a := asked(query.Diff{Base: ids[1], Stat: true}); len(a.Files) != 2 {
		w.t.Errorf("%+v", a.Files)
	}
	var names []string
	for _, e := range asked(query.ListFiles{}).Entries {
		names = append(names, e.Path)
	}
	if got := strings.Join(names, ","); got != ".keep,a.txt,dir/b.txt" {
		w.t.Error(got)
	}
	if got := found(asked(query.Grep{Pattern: "one"}).Matches); got != "a.txt:1:one|dir/b.txt:1:one" {
		w.t.Error(got)
	}
	if got := found(asked(query.Grep{Pattern: "one", Ref: "HEAD", In: "dir", After: 1}).Matches); got != "dir/b.txt:1:one" {
		w.t.Error(got)
	}
	if a := asked(query.Grep{Pattern: "paddock.secret", Ref: "HEAD", Count: true}); len(a.Counts) != 0 || a.OK {
		w.t.Errorf("%+v", a)
	}
	if a := asked(query.Grep{Pattern: "--full-name", Fixed: true}); len(a.Matches) != 0 || *a.ExitCode != 1 {
		w.t.Errorf("%+v", a)
	}
	if a := asked(query.Cat{In: "a.txt", Ref: ids[1]}); a.Content.Text != "one\ntwo\nthree\nfour\nfive\n" || a.Content.Path != "a.txt" {
		w.t.Errorf("%+v", a)
	}
	if a := asked(query.Cat{In: "dir"}); a.Content.Kind != "directory" {
		w.t.Errorf("%+v", a)
	}
	hasNote(w.t, asked(query.Cat{In: "."}), "is a directory")
	for _, name := range []string{"a.txt", "svc/pay/a.txt", "top.txt.", ":(top)x", "HEAD:x"} {
		if a := asked(query.Cat{In: name, Ref: ids[0]}); a.Content != nil {
			w.t.Errorf("%q: %+v", name, a)
		}
	}
	for _, name := range []string{"..", "../neighbor", w.root + "/top.txt", w.root, "dir/../../neighbor", "../pay/../neighbor"} {
		for _, q := range []query.Query{query.Log{In: name}, query.Blame{In: name}, query.Cat{In: name}, query.Status{In: name}, query.Grep{Pattern: ".", In: name}, query.ListFiles{In: name}, query.Diff{In: name}, query.Show{In: name}} {
			_, err := w.try(q)
			refused(w.t, err, paddock.PathOutsideRoot)
		}
	}
}

// Where the repository's own files aren't where the policy has them, or something lies
// in the way, it is said.
func TestRootBelowWhatIsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *world)
		code  paddock.Code // refused with it, or else answered
		note  string
	}{
		"no repository above": {func(w *world) { must(t, os.RemoveAll(w.root+"/.git")) }, "", "no git repository"},
		"a repository of its own": {func(w *world) {
			w.write("svc/pay/.git/HEAD", "ref: refs/heads/main\n")
			must(t, errorsOf(os.MkdirAll(w.root+"/svc/pay/.git/objects", 0o755), os.MkdirAll(w.root+"/svc/pay/.git/refs", 0o755)))
		}, "", "names no commit"},
		"a repository of its own and none above": {func(w *world) {
			must(t, os.Rename(w.root+"/.git", w.root+"/svc/pay/.git"))
		}, paddock.RepositoryRefused, ""},
		"a file of its own that leads above": {func(w *world) { w.write("svc/pay/.git", "gitdir: ../../.git\n") }, paddock.RepositoryRefused, ""},
		"a link of its own that leads above": {func(w *world) { must(t, os.Symlink("../../.git", w.root+"/svc/pay/.git")) }, paddock.RepositoryRefused, ""},
		"one between":                        {func(w *world) { w.write("svc/.git", "gitdir: ../.git\n") }, paddock.RepositoryRefused, ""},
		"files elsewhere": {func(w *world) {
			must(t, os.Rename(w.root+"/.git", w.outside+"/store"))
			w.write(".git", "gitdir: "+w.outside+"/store\n")
		}, paddock.RepositoryRefused, ""},
		"a link for its files": {func(w *world) {
			must(t, errorsOf(os.Rename(w.root+"/.git", w.outside+"/store"), os.Symlink(w.outside+"/store", w.root+"/.git")))
		}, paddock.RepositoryRefused, ""},
		"files shared with another": {func(w *world) { w.write(".git/commondir", "../other\n") }, paddock.RepositoryRefused, ""},
		"borrowed objects":          {func(w *world) { w.write(".git/objects/info/alternates", w.outside+"\n") }, paddock.RepositoryRefused, ""},
		"a link to a directory of it": {func(w *world) {
			must(t, errorsOf(os.Rename(w.root+"/svc", w.root+"/real"), os.Symlink("real", w.root+"/svc")))
		}, paddock.RepositoryRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldBelow(t, paddock.Off)
			w.below()
			c.spoil(w)
			a, err := w.try(query.Log{})
			if c.code != "" {
				refused(t, err, c.code)
				return
			}
			must(t, err)
			if hasNote(t, a, c.note); strings.Contains(w.everything(a), secret) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// By containment alone plain git in such a root reads no file above it but the
// repository's own, and writes none.
func TestContainmentHoldsPlainGitBelow(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorldBelow(t, level)
			w.below()
			plain := func(words string) (string, int) {
				t.Helper()
				run, err := w.exec.Start(t.Context(), paddock.Request{
					Principal: alice, Door: paddock.DoorGo, Room: Name,
					Command: paddock.Command{Argv: slices.Concat(w.plainGit(), strings.Fields(words)), Dir: w.root + "/svc/pay"},
				})
				must(t, err)
				run, err = w.exec.Wait(t.Context(), run.ID)
				must(t, err)
				status, ended := parse.Exited(run)
				if !ended {
					t.Errorf("%s: %s", words, run.State)
				}
				return w.everything(Answer{Run: run.ID}), status
			}
			for _, words := range []string{"diff --no-index /dev/null ../../top.txt", "diff --no-index /dev/null ../neighbor", "diff -- ../../top.txt", "grep -e . -- ../../top.txt"} {
				if out, _ := plain(words); strings.Contains(out, secret) && !strings.Contains(out, "-"+secret) { // what was there is in the repository
					t.Errorf("%s: %s", words, out)
				}
			}
			for _, words := range []string{"config x.y z", "branch new", "add a.txt", "init -q --bare ../../x"} {
				if out, status := plain(words); status == 0 {
					t.Errorf("%s: %s", words, out)
				}
			}
			if out, status := plain("log -1 --format=%s -- a.txt"); status != 0 || !strings.Contains(out, "changed") {
				t.Errorf("git doesn't find the repository, so this shows nothing: %s", out)
			}
		})
	}
}
