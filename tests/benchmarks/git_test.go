//go:build linux

package benchmarks_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/testproc"
	"paddock/runner"
)

const program = "/usr/bin/git"

// logs returns those that ask a repository: plain git, and ours, which looks at the
// repository first and asks in a contained run.
func (f *furniture) logs(long bool) []contender {
	why := ""
	if _, err := os.Stat(program); err != nil {
		why = "there is no " + program
	} else if !long {
		why = "it is measured by make bench only"
	}
	if why != "" {
		return f.noGit(why)
	}
	root, policy := filepath.Join(f.work, "repository"), filepath.Join(f.work, "git.yaml")
	must(f.t, os.Mkdir(root, 0o755))
	must(f.t, os.WriteFile(policy, []byte("version: 1\nroots: [{path: "+root+"}]\nexecutables: []\ngit: {executable: "+program+"}\n"), 0o600))
	file := filepath.Join(root, "file")
	must(f.t, os.WriteFile(file, []byte("before\n"), 0o644))
	git(f.t, root, "init", "-q", "-b", "main")
	git(f.t, root, "add", "file")
	for range 40 {
		git(f.t, root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a message")
	}
	must(f.t, os.WriteFile(file, []byte("after\n"), 0o644))
	r := f.open(policy, 2)
	if _, err := r.Git(f.t.Context(), "", runner.GitLog{}); err != nil {
		return f.noGit(err.Error())
	}
	plain := func(what string, args ...string) contender {
		return contender{what, "", func() time.Duration { return took(func() { git(f.t, root, args...) }) }}
	}
	ours := func(what string, q runner.GitQuestion, right func(runner.GitAnswer) bool) contender {
		return contender{what, f.place, func() time.Duration {
			return took(func() {
				a, err := r.Git(f.t.Context(), "", q)
				must(f.t, err)
				if !right(a) {
					f.t.Fatalf("%s: %+v", what, a)
				}
			})
		}}
	}
	twenty := func(a runner.GitAnswer) bool { return len(a.Commits) == 20 }
	return []contender{
		plain(gitPlain, "log", "--max-count=20"), ours(gitFull, runner.GitLog{}, twenty), ours(gitNamed, runner.GitLog{Ref: "main"}, twenty),
		plain(gitState, "status", "--porcelain"), ours(gitStateBy, runner.GitStatus{}, func(a runner.GitAnswer) bool { return len(a.Changes) == 1 }),
		plain(gitDiff, "diff"), ours(gitDiffBy, runner.GitDiff{}, func(a runner.GitAnswer) bool { return len(a.Files) == 1 }),
	}
}

// noGit says why none of them is measured.
func (f *furniture) noGit(why string) []contender {
	for _, what := range []string{gitPlain, gitFull, gitNamed, gitState, gitStateBy, gitDiff, gitDiffBy} {
		f.sheet.Missing[what] = why
	}
	return nil
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := testproc.Command(t, program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
