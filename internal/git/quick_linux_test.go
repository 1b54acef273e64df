//go:build linux

package git

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// counting counts the runs that are started.
type counting struct {
	Executor
	runs atomic.Int32
}

func (c *counting) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	c.runs.Add(1)
	return c.Executor.Start(ctx, req)
}

func (c *counting) StartBeside(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	c.runs.Add(1)
	return c.Executor.StartBeside(ctx, req)
}

// What HEAD or an id in full names is asked in one run of git, and is what git says it
// is, also where references are packed, HEAD is detached or the id isn't a commit's.
func TestOneRunWhereTheIDIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	of := func(ref string) string { return strings.TrimSpace(w.git("rev-parse", ref)) }
	head, tree := of("HEAD"), of("HEAD^{tree}")
	w.git("tag", "-a", "-m", "x", "note")
	tag := of("note")
	counted := &counting{Executor: w.exec}
	w.room = New(counted)
	asked := func(q query.Query, want int32) Answer {
		t.Helper()
		counted.runs.Store(0)
		a := w.ask(q)
		if got := counted.runs.Load(); got != want {
			t.Errorf("%+v took %d runs, want %d", q, got, want)
		}
		return a
	}
	check := func(q query.Query) {
		t.Helper()
		a := asked(q, 1)
		if len(a.Commits) == 0 || a.Commits[0].ID != head || len(a.Revisions) != 1 || a.Revisions[0].ID != head || !a.OK {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	check(query.Log{})
	check(query.Show{})
	check(query.Log{Ref: head})
	w.git("pack-refs", "--all")
	check(query.Log{})
	if a := asked(query.Blame{In: "a.txt"}, 1); len(a.Lines) != 3 {
		t.Errorf("%+v", a)
	}
	if a := asked(query.Diff{Base: "HEAD"}, 1); len(a.Files) != 1 {
		t.Errorf("%+v", a)
	}
	if a := asked(query.Status{}, 1); len(a.Changes) != 1 {
		t.Errorf("%+v", a)
	}
	for _, ref := range []string{"", "HEAD", "main", head} {
		if a := asked(query.Grep{Pattern: "TWO", Ref: ref}, 1); len(a.Matches) != 1 || a.Matches[0].Path != "a.txt" || ref != "" && a.Revisions[0].ID != head {
			t.Errorf("%q: %+v", ref, a)
		}
		if a := asked(query.Grep{Pattern: "TWO", Ref: ref, Count: true}, 1); len(a.Counts) != 1 || a.Counts[0].Path != "a.txt" {
			t.Errorf("%q: %+v", ref, a)
		}
	}
	for _, ref := range []string{"HEAD~0", "note", "main^0", "@", "note~0^0"} { // the answer tells what they are
		check(query.Show{Ref: ref})
		check(query.Log{Ref: ref})
	}
	if a := asked(query.Log{Ref: "HEAD~1"}, 1); len(a.Commits) != 1 || a.Revisions[0].ID != of("HEAD~1") {
		t.Errorf("%+v", a)
	}
	if a := asked(query.Diff{Base: "HEAD~1", Head: "note"}, 2); len(a.Files) != 1 || len(a.Revisions) != 2 || a.Revisions[1].ID != head {
		t.Errorf("%+v", a)
	}
	for _, q := range []query.Query{query.Diff{Base: "HEAD~1", Head: "nowhere"}, query.MergeBase{Base: "nowhere", Head: "HEAD~1"}, query.Diff{Base: "main", Head: "HEAD~9"}} {
		_, err := w.try(q)
		refused(t, err, paddock.RevisionInvalid)
	}
	w.git("config", "filter.lfs.process", "git-lfs filter-process") // as it is usually written
	hasNote(t, asked(query.Status{}, 1), "filters (lfs) weren't run")
	w.git("config", "filter.odd name.clean", "x") // which is asked of git
	hasNote(t, asked(query.Status{}, 2), "filters (lfs, odd name) weren't run")
	// Hooks that settings name are turned off by their names, as they are in either way.
	w.git("config", "hook.one.command", "x")
	record := func() string {
		t.Helper()
		run, err := w.exec.Run(t.Context(), w.ask(query.Status{}).Run)
		must(t, err)
		return strings.Join(run.Argv, " ")
	}
	for _, clear := range []string{"filter.odd name", "filter.lfs"} { // git is asked, and then it isn't
		if words := record(); !strings.Contains(words, "--config-env=hook.one.enabled=EMPTY") || !strings.Contains(words, "--config-env=filter.lfs.process=EMPTY") {
			t.Errorf("before %s was cleared: %s", clear, words)
		}
		w.git("config", "--remove-section", clear)
	}
	w.git("checkout", "-q", "--detach")
	check(query.Log{})
	if a := asked(query.Log{Ref: tag}, 1); len(a.Commits) != 2 || a.Commits[0].ID != head {
		t.Errorf("a tag's id: %+v", a)
	}
	if a := asked(query.MergeBase{Base: head, Head: "HEAD"}, 1); a.Base != head {
		t.Errorf("%+v", a)
	}
	check(query.Log{Ref: "main"})
	check(query.Log{Ref: "main"})
	w.git("branch", "side/way")
	check(query.Show{Ref: "side/way"})
	w.git("pack-refs", "--all")
	check(query.Show{Ref: "side/way"})
	if a := asked(query.Diff{Base: "main", Head: "side/way"}, 1); len(a.Files) != 0 || !a.OK {
		t.Errorf("%+v", a)
	}
	for _, id := range []string{tree, strings.Repeat("1", 40), strings.Repeat("1", 64)} {
		_, err := w.try(query.Log{Ref: id})
		refused(t, err, paddock.RevisionInvalid)
	}
	if a := asked(query.Log{In: "nothing"}, 1); len(a.Commits) != 0 {
		t.Errorf("%+v", a)
	}
}

// What is as long as an id of another kind of repository is none: it can be the name of a
// branch, or the beginning of an id, and what it stands for is told in full.
func TestIDsOfAnotherLength(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		w := newWorld(t, paddock.Off)
		w.git("init", "-q", "-b", "main", "--object-format="+format)
		w.commit()
		of := func(ref string) string { return strings.TrimSpace(w.git("rev-parse", "--verify", "-q", ref)) }
		head := of("HEAD")
		check := func(ref, want string) {
			t.Helper()
			for _, q := range []query.Query{query.Blame{Ref: ref, In: "a.txt"}, query.Diff{Base: ref}, query.Log{Ref: ref}, query.Grep{Ref: ref, Pattern: "one"}, query.Cat{Ref: ref, In: "a.txt"}} {
				if a := w.ask(q); len(a.Revisions) != 1 || a.Revisions[0].ID != want {
					t.Errorf("%s: %s of %s: %+v, want %s", format, q.Tool(), ref, a.Revisions, want)
				}
			}
		}
		check(head, head)
		check("HEAD", head)
		check("main", head)
		other := strings.Repeat(head, 2)[:64]
		if format == "sha256" {
			other = head[:40]
			check(other, head)
			check(other+"~1", of("HEAD~1"))
		}
		w.git("branch", other, "HEAD~1")
		check(other, of("HEAD~1"))
		check(other+"~0", of("HEAD~1"))
	}
	w := newWorld(t, paddock.Off)
	w.commit()
	head := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	for _, c := range []struct {
		text string
		want string
	}{
		{"[core]\n\trepositoryformatversion = 0\n", head},
		{"[extensions]\n\tobjectformat = sha256\n", ""},
		{"[Extensions] ObjectFormat=sha256\n", ""},
		{"[core]\n\tx = objectformat\n", ""},
		{"[core]\n\tx = y \\\n[extensions]\n\tobjectformat = sha256\n", ""},
		{"[extensions]\n\tobjectformat = sha1\n", ""},
	} {
		w.write(".git/config", c.text)
		look, err := repository.At(w.root)
		must(t, err)
		if look.Head != c.want || look.Named("main", true) != c.want || look.Named(head, true) != c.want {
			t.Errorf("%q: HEAD is %q", c.text, look.Head)
		}
	}
}

// A HEAD that leads elsewhere, or says what is no id, isn't read by us.
func TestHeadsThatAreNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	head := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	must(t, os.WriteFile(w.outside+"/ref", []byte(strings.Repeat("a", 40)+"\n"), 0o644))
	for name, spoil := range map[string]func(){
		"a reference that leads outside": func() {
			must(t, os.Symlink("../../../../outside/ref", w.root+"/.git/refs/heads/link"))
			w.write(".git/HEAD", "ref: refs/heads/link\n")
		},
		"a path that leads outside": func() { w.write(".git/HEAD", "ref: refs/heads/../../../../outside/ref\n") },
		"a reference that is a pipe": func() {
			must(t, mkfifo(w.root+"/.git/refs/heads/pipe"))
			w.write(".git/HEAD", "ref: refs/heads/pipe\n")
		},
		"a word that isn't an id": func() {
			w.write(".git/refs/heads/flag", "--output=x\n")
			w.write(".git/HEAD", "ref: refs/heads/flag\n")
		},
		"another kind of reference store": func() {
			must(t, os.Mkdir(w.root+"/.git/reftable", 0o755))
			w.write(".git/HEAD", "ref: refs/heads/main\n")
		},
		"no reference": func() { w.write(".git/HEAD", "whatever\n") },
	} {
		spoil()
		look, err := lookAt(w.root)
		for _, left := range []string{"link", "pipe", "flag"} {
			if err := os.Remove(w.root + "/.git/refs/heads/" + left); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		must(t, os.RemoveAll(w.root+"/.git/reftable"))
		if err == nil && look != "" {
			t.Errorf("%s: HEAD is taken for %s", name, look)
		}
	}
	w.write(".git/HEAD", "ref: refs/heads/main\n")
	if look, err := lookAt(w.root); err != nil || look != head {
		t.Errorf("%s, %v", look, err)
	}
}

func lookAt(root string) (string, error) {
	look, err := repository.At(root)
	return look.Head, err
}

// A name that could be something else than a branch's is for git to tell, and it is told
// what git would have.
func TestNamesThatAreNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	first := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	w.git("branch", "twice")
	w.git("branch", "beef")
	w.write("a.txt", "more\n")
	w.git("commit", "-q", "-a", "-m", "second")
	w.git("tag", "-a", "-m", "x", "twice") // which git takes before the branch
	w.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	w.git("update-ref", "refs/odd", first)
	w.git("branch", "odd")
	w.git("branch", "config") // as one of git's own files is called
	counted := &counting{Executor: w.exec}
	w.room = New(counted)
	for _, packed := range []bool{false, true} {
		if packed {
			w.git("pack-refs", "--all")
		}
		for _, ref := range []string{"twice", "alias", "odd", "beef", "config", "main~1", "main@{0}", "heads/main", "refs/heads/main", first[:10]} {
			counted.runs.Store(0)
			want, err := w.plain("rev-parse", "--verify", "-q", ref+"^{commit}")
			a, badly := w.try(query.Log{Ref: ref, In: "a.txt"}) // which needn't begin with that commit
			switch {
			case (err == nil) != (badly == nil):
				t.Errorf("%s: git %v, we %v", ref, err, badly)
			case err == nil && (len(a.Revisions) != 1 || a.Revisions[0].ID != strings.TrimSpace(want)):
				t.Errorf("%s is %+v, want %s", ref, a.Revisions, want)
			case counted.runs.Load() < 2 && !(packed && ref == "twice"): // of a packed tag it is said what it stands for
				t.Errorf("git wasn't asked about %s", ref)
			}
		}
	}
	// What a repository says of its branches is an id by its form, or git is asked.
	for name, text := range map[string]string{"short": "beef", "path": "../../../../etc/passwd", "long": strings.Repeat("1", 80), "empty": "", "NUL": "\x00"} {
		w.write(".git/refs/heads/hostile", text+"\n")
		look, err := repository.At(w.root)
		if err != nil {
			t.Fatal(err)
		}
		if id := look.Named("hostile", true); id != "" {
			t.Errorf("%s: it is taken for %s", name, id)
		}
		w.write(".git/refs/tags/v", text+"\n")
		if id := look.Named("v", false); id != "" {
			t.Errorf("%s: as a tag it is taken for %s", name, id)
		}
	}
	must(t, os.Remove(w.root+"/.git/refs/tags/v"))
	look, err := repository.At(w.root)
	must(t, err)
	two := strings.Repeat("2", 40)
	for name, c := range map[string]struct{ text, want string }{
		"a tag's object":          {"# pack-refs with: peeled fully-peeled sorted \n" + first + " refs/tags/v\n^" + two + "\n", two},
		"a commit":                {"# pack-refs with: peeled fully-peeled sorted \n" + first + " refs/tags/v\n", first},
		"it isn't said which":     {"# pack-refs with: peeled \n" + first + " refs/tags/v\n", ""},
		"as old versions write":   {first + " refs/tags/v\n", ""},
		"it stands for no id":     {"# pack-refs with: fully-peeled\n" + first + " refs/tags/v\n^HEAD\n", ""},
		"what stands for another": {"# pack-refs with: fully-peeled\n" + first + " refs/tags/v\n" + first + " refs/tags/w\n^" + two + "\n", first},
		"what stands for nothing": {"# pack-refs with: fully-peeled\n^" + two + "\n" + first + " refs/tags/v\n", first},
	} {
		w.write(".git/packed-refs", c.text)
		if id := look.Named("v", true); id != c.want {
			t.Errorf("packed, %s: %q, want %q", name, id, c.want)
		}
	}
}

// Whatever settings say, each filter and hook that git finds in them is found, or git is asked.
func TestFiltersThatAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.git("init", "-q")
	parts := strings.Split("[|filter|Filter|FILTER|hook|HOOK| |\t|\r|\n|\"x\"|\"y z\"|\"a\\\"b\"|.x|]|clean|process|command|=|\\|#|;|[core]|[filter \"ok\"]|[hook \"h\"]|\n[filter \"lfs\"]\n\tprocess = x\n|[include]|includeIf|path=x|\"|\xef\xbb\xbf|\u0130|\u017f|\xff|key", "|")
	random := rand.New(rand.NewPCG(1, 2))
	listed, told := 0, 0
	for n := range 300 {
		text := "\n"
		if n%2 == 0 { // the next is more often what git can read
			text = "\n[filter \"first\"]\n\tclean = "
		}
		for range 1 + random.IntN(7) {
			text += parts[random.IntN(len(parts))]
		}
		w.write(".git/config", text)
		look, err := repository.At(w.root)
		must(t, err)
		names, ok := look.Drivers()
		if !ok {
			continue
		}
		told++
		out, err := w.plain("config", "--file", w.root+"/.git/config", "--includes", "--list", "--null", "--name-only")
		if err != nil {
			continue // git reads no such settings
		}
		drivers, err := parse.Drivers([]byte(out))
		must(t, err)
		for _, d := range drivers {
			listed++
			if !slices.Contains(names, d) {
				t.Errorf("%q: git finds %q, and it isn't among %q", text, d, names)
			}
		}
	}
	if listed < 20 || told < 100 {
		t.Errorf("%d of 300 were told, with %d filters: this shows little", told, listed)
	}
	for name, spoil := range map[string]func(){
		"too long":        func() { w.write(".git/config", strings.Repeat("#\n", 40<<10)+"[filter \"x\"]\nclean=y\n") },
		"of the worktree": func() { w.write(".git/config", ""); w.write(".git/config.worktree", "[FILTER \"x\"]\nclean=y\n") },
	} {
		spoil()
		look, err := repository.At(w.root)
		must(t, err)
		if names, ok := look.Drivers(); ok {
			t.Errorf("%s: %q", name, names)
		}
	}
}
