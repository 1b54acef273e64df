//go:build linux

package git

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
	"paddock/internal/testproc"
)

// An edit is one that a tool, a person, or who wants to hide it makes.
type edit struct {
	name string
	do   func(w *world, pick func(of []string) string, n int)
}

var past = time.Unix(946684800, 0)

// quietly has a step of git that may fail, as where there is nothing to commit.
func quietly(args ...string) func(w *world, _ func([]string) string, _ int) {
	return func(w *world, _ func([]string) string, _ int) { _, _ = w.plain(args...) }
}

// flagged sets a flag of a file's entry.
func flagged(flag string) func(w *world, pick func([]string) string, _ int) {
	return func(w *world, pick func([]string) string, _ int) {
		_, _ = w.plain("update-index", flag, strings.TrimPrefix(pick(w.files()), w.root+"/"))
	}
}

// files are the working tree's, directories left out.
func (w *world) files() (files []string) {
	must(w.t, filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case err == nil && !d.IsDir():
			files = append(files, path)
		}
		return err
	}))
	return files
}

// Some are made at random, with all that may be in the way.
var edits = []edit{
	{"changed", func(w *world, pick func([]string) string, n int) {
		must(w.t, os.WriteFile(pick(w.files()), fmt.Appendf(nil, "%04d", n), 0o644))
	}},
	{"changed and dated back", func(w *world, pick func([]string) string, n int) {
		f := pick(w.files())
		st, err := os.Stat(f)
		must(w.t, errorsOf(err, os.WriteFile(f, fmt.Appendf(nil, "%04d", n), 0o644), os.Chtimes(f, past, st.ModTime())))
	}},
	{"another one with its time", func(w *world, pick func([]string) string, n int) {
		f := pick(w.files())
		st, err := os.Stat(f)
		must(w.t, errorsOf(err, os.WriteFile(w.base+"/new", fmt.Appendf(nil, "%04d", n), 0o644), os.Chtimes(w.base+"/new", past, st.ModTime()), os.Rename(w.base+"/new", f)))
	}},
	{"changed in place by a second name", func(w *world, pick func([]string) string, n int) {
		f := pick(w.files())
		st, err := os.Stat(f)
		must(w.t, errorsOf(err, os.Link(f, w.base+"/link"), os.WriteFile(w.base+"/link", fmt.Appendf(nil, "%04d", n), 0o644), os.Chtimes(w.base+"/link", past, st.ModTime()), os.Remove(w.base+"/link")))
	}},
	{"dated", func(w *world, pick func([]string) string, _ int) { must(w.t, os.Chtimes(pick(w.files()), past, past)) }},
	{"all dated", func(w *world, _ func([]string) string, _ int) {
		for _, f := range w.files() {
			must(w.t, os.Chtimes(f, past, past))
		}
		_, _ = w.plain("update-index", "-q", "--refresh")
	}},
	{"directories exchanged", func(w *world, _ func([]string) string, n int) {
		_ = unix.Renameat2(unix.AT_FDCWD, w.root+"/d", unix.AT_FDCWD, w.root+fmt.Sprintf("/e%d", n%2), unix.RENAME_EXCHANGE)
	}},
	{"of another mode", func(w *world, pick func([]string) string, n int) {
		must(w.t, os.Chmod(pick(w.files()), os.FileMode(0o644+0o111*(n%2))))
	}},
	{"gone", func(w *world, pick func([]string) string, _ int) { must(w.t, os.Remove(pick(w.files()))) }},
	{"empty", func(w *world, pick func([]string) string, _ int) { must(w.t, os.Truncate(pick(w.files()), 0)) }},
	{"new", func(w *world, _ func([]string) string, n int) { w.write(fmt.Sprintf("n/%d", n%5), "1234") }},
	{"in capitals", func(w *world, pick func([]string) string, _ int) {
		f := pick(w.files())
		must(w.t, os.Rename(f, filepath.Join(filepath.Dir(f), strings.ToUpper(filepath.Base(f)))))
	}},
	{"a directory behind a link", func(w *world, _ func([]string) string, n int) {
		d := w.root + fmt.Sprintf("/e%d", n%2)
		if os.Rename(d, w.root+"/away") == nil {
			_ = os.Symlink("away", d)
		}
	}},
	{"as it was", func(w *world, _ func([]string) string, _ int) {
		_, _ = w.plain("update-index", "--no-split-index", "--index-version=2")
		_, _ = w.plain("reset", "-q", "--hard", "first")
		_, _ = w.plain("clean", "-fdqx")
	}},
	{"added", quietly("add", "-A")}, {"committed", quietly("commit", "-q", "-a", "-m", "x")}, {"refreshed", quietly("update-index", "-q", "--refresh")},
	{"looked at by git", quietly("status")}, {"taken out", quietly("rm", "-q", "--cached", "-r", "d")}, {"put aside", quietly("stash")},
	{"without sizes", quietly("read-tree", "HEAD")}, {"to be added", quietly("add", "-N", ".")},
	{"split", quietly("update-index", "--split-index")}, {"of version 4", quietly("update-index", "--index-version=4")},
	{"of version 2", quietly("update-index", "--no-split-index", "--index-version=2")}, {"with a cache", quietly("update-index", "--untracked-cache")},
	{"assumed", flagged("--assume-unchanged")}, {"not assumed", flagged("--no-assume-unchanged")}, {"skipped", flagged("--skip-worktree")}, {"not skipped", flagged("--no-skip-worktree")},
	{"the index dated", func(w *world, _ func([]string) string, n int) {
		must(w.t, os.Chtimes(w.root+"/.git/index", past, past.AddDate(n%3*20, 0, 0)))
	}},
	{"a conflict", func(w *world, _ func([]string) string, _ int) {
		_, _ = w.plain("checkout", "-q", "--merge", "--conflict=merge", "other")
	}},
}

// says is what plain git tells of the working tree, by that index, and writes nothing.
func (w *world) says(index string) map[string]bool {
	w.t.Helper()
	words := append([]string{"--no-optional-locks", "-c", "core.untrackedCache=false"}, query.Status{Untracked: "all"}.Args(nil, "")...)
	cmd := testproc.Command(w.t, program, words...)
	cmd.Dir = w.root
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.base, "GIT_CONFIG_NOSYSTEM=1", "GIT_INDEX_FILE=" + index}
	out, err := cmd.Output()
	must(w.t, err)
	s, _, err := present.Status(out, false)
	must(w.t, err)
	return of(s.Changes)
}

func of(changes []present.Change) map[string]bool {
	all := map[string]bool{}
	for _, c := range changes {
		all[fmt.Sprintf("%+v", c)] = true
	}
	return all
}

// forgetful is an index that knows no file's time, so that git must read each; "" where the index isn't of version 2.
func (w *world) forgetful() string {
	all, err := os.ReadFile(w.root + "/.git/index")
	must(w.t, err)
	if binary.BigEndian.Uint32(all[4:]) > 3 {
		return ""
	}
	at := 12
	for range binary.BigEndian.Uint32(all[8:]) {
		clear(all[at : at+16])
		flags, head := binary.BigEndian.Uint16(all[at+60:]), 62
		if flags&0x4000 != 0 {
			head = 64
		}
		at += (head + int(flags&0xfff) + 8) &^ 7
	}
	if strings.HasPrefix(string(all[at:]), "link") {
		return ""
	}
	must(w.t, os.WriteFile(w.base+"/index", all, 0o644))
	return w.base + "/index"
}

// Whatever was done to a working tree, a status never tells less than plain git, and nothing
// that isn't so; also where files were dated back, exchanged or marked, and whether git reads each file or not.
func TestAnyEditIsTold(t *testing.T) {
	t.Parallel()
	long := os.Getenv("PADDOCK_LONG") != ""
	for level, rounds := range map[paddock.Level]int{paddock.Full: 150, paddock.Standard: 30, paddock.Off: 30} {
		if long {
			rounds *= 10
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			seed := uint64(1)
			if long {
				seed = uint64(time.Now().UnixNano())
			}
			random := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t, level)
			w.git("init", "-q", "-b", "main")
			for _, name := range []string{"a", "b.txt", "d/x", "d/y", "e0/x", "e0/y", "e1/x", "e1/y", "s/t/u"} {
				w.write(name, "0000")
			}
			w.git("add", "-A")
			w.git("commit", "-q", "-m", "first")
			w.git("tag", "first")
			pick := func(of []string) string {
				if len(of) == 0 {
					w.write("a", "0000")
					return w.root + "/a"
				}
				f := of[random.IntN(len(of))]
				if st, err := os.Lstat(f); err != nil || !st.Mode().IsRegular() {
					w.write("a", "0000")
					return w.root + "/a"
				}
				return f
			}
			quick, done := 0, []string{}
			for n := range rounds {
				for range 1 + random.IntN(2) {
					e := edits[random.IntN(len(edits))]
					if n%6 == 0 { // most that could be hidden is hidden from an index that is of use
						e = edits[slices.IndexFunc(edits, func(e edit) bool { return e.name == "as it was" })]
					}
					e.do(w, pick, n)
					done = append(done, e.name)
				}
				plain := w.says(w.root + "/.git/index")
				a := w.ask(query.Status{Untracked: "all"})
				ours, truth := of(a.Changes), map[string]bool(nil)
				if index := w.forgetful(); index != "" {
					truth = w.says(index)
				}
				last := done[max(0, len(done)-8):]
				for c := range plain {
					if !ours[c] && (truth == nil || truth[c]) {
						t.Fatalf("seed %d, after %q git tells %s, and ours doesn't: %+v", seed, last, c, a)
					}
				}
				for c := range ours {
					if !plain[c] && truth != nil && !truth[c] {
						t.Fatalf("seed %d, after %q ours tells %s, and git doesn't: %v", seed, last, c, truth)
					}
				}
				run, err := w.exec.Run(t.Context(), a.Run)
				must(t, err)
				if slices.Contains(run.Argv, "core.checkStat=minimal") {
					quick++
				}
			}
			if level == paddock.Full && os.Geteuid() == 0 && (quick < rounds/5 || quick == rounds) {
				t.Errorf("of %d, git compared size and time alone in %d: this shows little", rounds, quick)
			}
		})
	}
}
