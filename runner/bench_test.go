//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// BenchmarkRun is one run from its start to its settled record, with a
// supervisor at hand.
func BenchmarkRun(b *testing.B) {
	w := newWorld(b, permissive, func(o *Options) { o.Warm = 4 })
	for b.Loop() {
		run, err := w.r.Start(b.Context(), Command{Argv: []string{"sh", "-c", ":"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.r.Wait(b.Context(), run.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExplain is one decision with all that is looked at for it.
func BenchmarkExplain(b *testing.B) {
	w := newWorld(b, permissive)
	c := Command{Argv: []string{"sh", "-c", ":"}, Timeout: time.Second}
	for b.Loop() {
		if d := w.explain(c); d.Refusal() != nil {
			b.Fatal(d.Refusal())
		}
	}
}

// BenchmarkGit is git by itself beside answers of the git tools, warm and at full.
func BenchmarkGit(b *testing.B) {
	const git = "/usr/bin/git"
	if _, err := os.Stat(git); err != nil {
		testproc.Skip(b, "there is no "+git)
	}
	w := newWorld(b, "version: 1\nroots: [{path: ROOT}]\nexecutables: []\ngit: {executable: "+git+"}\n", func(o *Options) { o.Warm = 4 })
	plain := func(args ...string) {
		cmd := testproc.Command(b, git, append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = w.root
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	file := filepath.Join(w.root, "file")
	must(b, os.WriteFile(file, []byte("before\n"), 0o644))
	plain("init", "-q", "-b", "main")
	plain("add", "file")
	for range 40 {
		plain("commit", "-q", "--allow-empty", "-m", "a message")
	}
	must(b, os.WriteFile(file, []byte("after\n"), 0o644))
	for _, c := range []struct {
		name  string
		plain []string
		ours  GitQuestion
	}{
		{"log of HEAD", []string{"log", "--max-count=20"}, GitLog{}},
		{"log of a branch", []string{"log", "--max-count=20", "main"}, GitLog{Ref: "main"}},
		{"status", []string{"status", "--porcelain"}, GitStatus{}},
		{"diff", []string{"diff"}, GitDiff{}},
		{"diff of two commits", []string{"diff", "main~1", "main"}, GitDiff{Base: "main~1", Head: "main"}},
	} {
		b.Run(c.name+"/git", func(b *testing.B) {
			for b.Loop() {
				plain(c.plain...)
			}
		})
		b.Run(c.name+"/paddock", func(b *testing.B) {
			for b.Loop() {
				if a, err := w.r.Git(b.Context(), "", c.ours); err != nil || !a.OK {
					b.Fatalf("%+v, %v", a, err)
				}
			}
		})
	}
}
