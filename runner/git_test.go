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
	_, err = w.r.Start(t.Context(), Command{Argv: []string{"git", "log"}})
	refused(t, err, paddock.ExecutableNotAllowed)
}
