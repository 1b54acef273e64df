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

// logs returns those that show the newest twenty commits of a repository: plain
// git, and ours, which finds out first which commit is meant.
func (f *furniture) logs(long bool) []contender {
	why := ""
	if _, err := os.Stat(program); err != nil {
		why = "there is no " + program
	} else if !long {
		why = "it is measured by make bench only"
	}
	if why != "" {
		f.sheet.Missing[gitPlain], f.sheet.Missing[gitFull] = why, why
		return nil
	}
	root, policy := filepath.Join(f.work, "repository"), filepath.Join(f.work, "git.yaml")
	must(f.t, os.Mkdir(root, 0o755))
	must(f.t, os.WriteFile(policy, []byte("version: 1\nroots: [{path: "+root+"}]\nexecutables: []\ngit: {executable: "+program+"}\n"), 0o600))
	git(f.t, root, "init", "-q", "-b", "main")
	for range 40 {
		git(f.t, root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a message")
	}
	r := f.open(policy, 2)
	if _, err := r.Git(f.t.Context(), "", runner.GitLog{}); err != nil {
		f.sheet.Missing[gitPlain], f.sheet.Missing[gitFull] = err.Error(), err.Error()
		return nil
	}
	return []contender{
		{gitPlain, "", func() time.Duration { return took(func() { git(f.t, root, "log", "--max-count=20") }) }},
		{gitFull, f.place, func() time.Duration {
			return took(func() {
				a, err := r.Git(f.t.Context(), "", runner.GitLog{})
				must(f.t, err)
				if len(a.Commits) != 20 {
					f.t.Fatalf("%+v", a)
				}
			})
		}},
	}
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := testproc.Command(t, program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
