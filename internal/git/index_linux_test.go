//go:build linux

package git

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// tracking is a repository with files in some directories, in an index as git writes it.
func tracking(t *testing.T, init ...string) *world {
	t.Helper()
	w := newWorld(t, paddock.Off)
	w.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	for _, name := range []string{"aa/outside/secret.txt", "b", "b.d/f", "c/d/e/f", "c/d/g", "c/x/y", "dir/a", "dir2/a", "z z/\xff/f"} {
		w.write(name, "one\n")
	}
	w.write("l/"+strings.Repeat("long", 60)+"/f", "one\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	return w
}

// dirsOfGit are the directories that git says it tracks files in; nil where it can't say.
func (w *world) dirsOfGit(name string) []string {
	w.t.Helper()
	words := []string{"--literal-pathspecs", "ls-files", "-z", "--cached", "--stage", "--"}
	if name != "" {
		words = append(words, name)
	}
	out, err := w.plain(words...)
	if err != nil {
		return nil
	}
	var d parse.Directories
	_, err = d.Write([]byte(out))
	must(w.t, err)
	return slices.Sorted(slices.Values(d.All))
}

func (w *world) dirsOfOurs(name string) ([]string, bool) {
	w.t.Helper()
	look, err := repository.At(w.root)
	must(w.t, err)
	dirs, told := look.Tracked(name)
	return slices.Sorted(slices.Values(dirs)), told
}

// Which directories git tracks files in is read from the index as git writes it, and is what
// git says.
func TestDirectoriesThatAreRead(t *testing.T) {
	t.Parallel()
	w := tracking(t)
	for _, name := range []string{"", "b", "b.d", "c", "c/d", "c/d/g", "dir", "di", "dir2/", "nothing", "z z", "c*"} {
		name = strings.TrimSuffix(name, "/")
		if got, told := w.dirsOfOurs(name); !told || !slices.Equal(got, w.dirsOfGit(name)) {
			t.Errorf("%q: %q (%v), git says %q", name, got, told, w.dirsOfGit(name))
		}
	}
	w.git("status") // which writes the index, with what it knows of trees
	w.git("update-index", "--untracked-cache")
	if got, told := w.dirsOfOurs(""); !told || !slices.Equal(got, w.dirsOfGit("")) {
		t.Errorf("%q (%v), git says %q", got, told, w.dirsOfGit(""))
	}
	counted := &counting{Executor: w.exec}
	w.room = New(counted)
	if a := w.ask(query.Grep{Pattern: "one"}); len(a.Matches) != 10 || counted.runs.Load() != 1 {
		t.Errorf("%d runs: %+v", counted.runs.Load(), a)
	}
	must(t, os.Remove(w.root+"/.git/index"))
	if got, told := w.dirsOfOurs(""); !told || len(got) != 0 {
		t.Errorf("without an index: %q (%v)", got, told)
	}
}

// An index of another form, or that leads elsewhere, is for git to read.
func TestIndexesThatAreNotRead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"of version 4":           func(w *world) { w.git("update-index", "--index-version=4") },
		"in two files":           func(w *world) { w.git("update-index", "--split-index") },
		"a file yet to be added": func(w *world) { w.write("new", "x\n"); w.git("add", "-N", "new") },
		"where it ends is said": func(w *world) {
			w.git("-c", "index.recordEndOfIndexEntries=true", "-c", "index.threads=2", "update-index", "--force-write-index")
		},
		"other settings":             set("extensions.worktreeConfig", "true"),
		"settings of another file":   set("include.path", "other"),
		"settings in another letter": func(w *world) { w.write(".git/config", "[core]\nrepositoryformatversion = 0\n[EXTENSIONS]\nx = y\n") },
		"a name as long as can be": func(w *world) {
			w.git("update-index", "--add", "--cacheinfo", "100644,"+w.blob()+",a/"+strings.Repeat("b", 4095))
		},
		"cut":   func(w *world) { must(w.t, os.Truncate(w.root+"/.git/index", 100)) },
		"empty": func(w *world) { must(w.t, os.Truncate(w.root+"/.git/index", 0)) },
		"huge":  func(w *world) { must(w.t, os.Truncate(w.root+"/.git/index", 1<<30)) },
	} {
		w := tracking(t)
		spoil(w)
		if got, told := w.dirsOfOurs(""); told {
			t.Errorf("%s: %q is taken", name, got)
		}
	}
	w := tracking(t, "--object-format=sha256")
	if got, told := w.dirsOfOurs(""); told {
		t.Errorf("with longer ids %q is taken", got)
	}
	if a := w.ask(query.Grep{Pattern: "one"}); len(a.Matches) != 10 {
		t.Errorf("%+v", a)
	}
}

func (w *world) blob() string { return strings.TrimSpace(w.git("rev-parse", "HEAD:b")) }

// Whatever an index says, what is told of it is what git reads in it. Plain git is shown to
// read what lies outside, by names that no git would have written.
func TestHostileIndexes(t *testing.T) {
	t.Parallel()
	w := tracking(t)
	file := filepath.Join(w.root, ".git", "index")
	honest, err := os.ReadFile(file)
	must(t, err)
	for _, name := range []string{"../outside/secret.txt", "/a/outside/secret.txt", "/a_outside_secret.txt"} {
		must(t, os.WriteFile(file, bytes.Replace(honest, []byte("aa/outside/secret.txt"), []byte(name), 1), 0o644))
		if out, _ := w.plain("grep", "-h", "-e", secret); name[0] == '.' && !strings.Contains(out, secret) {
			t.Errorf("plain git doesn't read what is outside either, so this shows nothing: %q", out)
		}
		if out, _ := w.plain("diff"); name[0] == '.' && !strings.Contains(out, secret) {
			t.Errorf("plain git shows nothing of what is outside, so this shows nothing: %q", out)
		}
		for _, q := range []query.Query{query.Grep{Pattern: "."}, query.Diff{}, query.Diff{Stat: true}, query.Diff{Base: "HEAD"}, query.Status{}} {
			_, err = w.try(q)
			refused(t, err, paddock.PathOutsideRoot)
		}
	}

	random := rand.New(rand.NewPCG(1, 2))
	told, listed := 0, 0
	parts := [][]byte{[]byte("EOIE"), []byte("IEOT"), []byte("link"), []byte("sdir"), []byte("TREE"), {0}, {0, 0, 0, 4}, []byte("../"), []byte("/"), {0xff}, []byte(".git/")}
	for range 150 {
		text := bytes.Clone(honest)
		for range 1 + random.IntN(3) {
			at, part := random.IntN(len(text)), parts[random.IntN(len(parts))]
			switch random.IntN(4) {
			case 0:
				text = slices.Insert(text, at, part...)
			case 1:
				text = slices.Delete(text, at, min(len(text), at+1+random.IntN(8)))
			case 2:
				copy(text[at:], part)
			default:
				text[at] ^= 1 << random.IntN(8)
			}
		}
		must(t, os.WriteFile(file, text, 0o644))
		got, ok := w.dirsOfOurs("")
		if !ok {
			continue
		}
		told++
		want := w.dirsOfGit("")
		if want == nil {
			continue // git reads nothing
		}
		listed++
		if !slices.Equal(got, want) {
			t.Fatalf("%q are taken, git says %q; the index is %q", got, want, text)
		}
	}
	if told < 20 || listed < 15 {
		t.Errorf("%d were told, %d by git as well: this shows little", told, listed)
	}
}

// What the tools ask changes nothing in a repository whose index is sparse, or that is to be: git would
// write trees, and at off nothing keeps it from that.
func TestSparseIndexes(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Off, paddock.Full} {
		for _, c := range []struct {
			sparse string
			mark   string
		}{{"--sparse-index", "false"}, {"--sparse-index", "true"}, {"--no-sparse-index", "false"}} {
			w := newWorld(t, level)
			w.git("init", "-q", "-b", "main")
			for _, name := range []string{"a.txt", "in/x", "out/y", "out/z/w", "other/v"} {
				w.write(name, "one\n")
			}
			w.git("add", "-A")
			w.git("commit", "-q", "-m", "first")
			w.write("a.txt", "one two\n")
			w.git("commit", "-q", "-a", "-m", "second")
			w.git("config", "index.recordEndOfIndexEntries", c.mark)
			w.git("config", "index.threads", "2")
			w.git("sparse-checkout", "set", "--cone", c.sparse, "in")
			w.git("config", "index.sparse", "true") // whatever the index is
			w.write("in/x", "two one\n")
			w.git("-c", "index.sparse="+fmt.Sprint(c.sparse == "--sparse-index"), "add", "in/x") // of which there is no tree yet
			w.write("in/x", "three one\n")
			before := w.holds()
			sparse := c.sparse == "--sparse-index"
			for _, q := range append(questions(), query.ListFiles{In: "out"}, query.Grep{Pattern: "one", In: "out"}) {
				_, list := q.(query.ListFiles)
				a, err := w.try(q)
				switch {
				case sparse && level == paddock.Off && (list || q.Worktree()):
					refused(t, err, paddock.RepositoryRefused)
				case err != nil:
					t.Errorf("%s, %+v, %s: %v", level, c, q.Tool(), err)
				case list && len(a.Entries) != map[string]int{"": 5, "out": 2}[q.Path()]:
					t.Errorf("%s, %+v: %+v", level, c, a)
				}
			}
			if after := w.holds(); after != before {
				t.Errorf("%s, %+v: the repository was changed: %s\nbefore:%s", level, c, after, before)
			}
			_, _ = w.plain("ls-files")
			if w.holds() == before && sparse {
				t.Errorf("%s, %+v: plain git writes nothing either, so this shows nothing", level, c)
			}
		}
	}
}

// Where files have other owners in a run, git doesn't read each of them for that; and what was
// changed is seen all the same, though it has the size and the time that it had.
func TestFilesThatSeemSomebodyElses(t *testing.T) {
	t.Parallel()
	old := time.Unix(946684800, 0)
	for _, level := range []paddock.Level{paddock.Full, paddock.Off} {
		w := newWorld(t, level)
		w.commit()
		w.write("c.txt", "one\n")
		w.write("d/e.txt", "one\n")
		w.git("add", "-A")
		for _, name := range []string{"a.txt", "c.txt", "d/e.txt"} {
			must(t, os.Chtimes(filepath.Join(w.root, name), old, old))
		}
		w.git("commit", "-q", "-a", "-m", "third")
		w.git("update-index", "-q", "--refresh")
		changes := func() (names []string, quick bool) {
			a := w.ask(query.Status{})
			run, err := w.exec.Run(t.Context(), a.Run)
			must(t, err)
			for _, c := range a.Changes {
				names = append(names, c.Path)
			}
			return names, slices.Contains(run.Argv, "core.checkStat=minimal")
		}
		other := level == paddock.Full && os.Geteuid() == 0
		if names, quick := changes(); len(names) != 0 || quick != other {
			t.Errorf("at %s: %q differ, %v", level, names, quick)
		}
		text, err := os.ReadFile(w.root + "/.git/index")
		must(t, err)
		copy(text[12+28:], "\x00\x00\x30\x39\x00\x00\x30\x39") // as if git had written of the first file in a run
		must(t, os.WriteFile(w.root+"/.git/index", text, 0o644))
		if names, quick := changes(); len(names) != 0 || quick != other {
			t.Errorf("at %s, with two owners: %q differ, %v", level, names, quick)
		}
		must(t, os.Remove(w.root+"/a.txt"))
		w.write("c.txt", "longer\n")
		if names, quick := changes(); !slices.Equal(names, []string{"a.txt", "c.txt"}) || quick != other {
			t.Errorf("at %s: %q differ, %v", level, names, quick)
		}
		w.write("d/new", "two\n") // another file, of the same size
		must(t, errorsOf(os.Rename(w.root+"/d/new", w.root+"/d/e.txt"), os.Chtimes(w.root+"/d/e.txt", old, old)))
		if names, quick := changes(); !slices.Equal(names, []string{"a.txt", "c.txt", "d/e.txt"}) || quick {
			t.Errorf("at %s: %q differ, %v", level, names, quick)
		}
		must(t, errorsOf(os.RemoveAll(w.root+"/d"), os.Symlink("../outside", w.root+"/d")))
		if names, _ := changes(); !slices.Contains(names, "d/e.txt") {
			t.Errorf("at %s: %q differ", level, names)
		}
	}
}
