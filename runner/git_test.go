//go:build linux

package runner

import (
	"os"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

// A host program asks about a repository, and gets no git by it.
func TestGit(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		testproc.Skip(t, "there is no /usr/bin/git")
	}
	w := newWorld(t, permissive)
	_, err := w.r.Git(t.Context(), "", GitLog{})
	refused(t, err, paddock.GitNotAllowed)
	_, err = w.r.Git(t.Context(), "", nil)
	refused(t, err, paddock.InvalidRequest)
	w.write(permissive + "git: {executable: /usr/bin/git}\n")
	w.done("git init -q && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m first")
	a, err := w.r.Git(t.Context(), w.root, GitLog{})
	must(t, err)
	if len(a.Commits) != 1 || a.Commits[0].Message != "first" {
		t.Errorf("%+v", a)
	}
	run, err := w.r.Status(t.Context(), a.Run)
	must(t, err)
	if got := w.text(run, Stdout); !strings.Contains(got, a.Commits[0].ID) || run.Label != "git log" {
		t.Errorf("%q has %q", run.Label, got)
	}
	w.done("echo hello > a && git add a")
	a, err = w.r.Git(t.Context(), "", GitStatus{})
	must(t, err)
	if len(a.Changes) != 1 || a.Changes[0].Staged != "A" || a.Changes[0].Path != "a" {
		t.Errorf("%+v", a)
	}
	a, err = w.r.Git(t.Context(), "", GitGrep{Pattern: "^hel+o$"})
	must(t, err)
	if len(a.Matches) != 1 || a.Matches[0].Path != "a" {
		t.Errorf("%+v", a)
	}
	w.done("git -c user.name=A -c user.email=a@b commit -q -m second")
	a, err = w.r.Git(t.Context(), "", GitCat{In: "a"})
	must(t, err)
	if a.Content.Text != "hello\n" || !a.Content.EOF {
		t.Errorf("%+v", a.Content)
	}
	a, err = w.r.Git(t.Context(), "", GitBranches{})
	must(t, err)
	if len(a.Refs) != 1 || !a.Refs[0].Current || a.Refs[0].Subject != "second" {
		t.Errorf("%+v", a.Refs)
	}
	_, err = w.r.Start(t.Context(), Command{Argv: []string{"git", "log"}})
	refused(t, err, paddock.ExecutableNotAllowed)
}
