//go:build linux

package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// What a file holds is found out and read in one run, whatever names the revision, and it
// is what is told step by step, as of an older git.
func TestOneRunForAFile(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "/svc/pay"} {
		t.Run("root"+below, func(t *testing.T) {
			t.Parallel()
			w := worldOf(t, paddock.Off, below, "")
			w.commit()
			w.write(w.sub+"dir/long", strings.Repeat("a line of it\n", 1000)+"the last")
			w.write(w.sub+"dir/bin", "a\nb\x00c")
			w.write(w.sub+"dir/latin", "gr\xfc\xdfe\n")
			w.write(w.sub+"dir/empty", "")
			w.write(w.sub+"dir/with space", "x\n")
			w.write(w.sub+"dir/with\nbreak", "broken\n")
			must(t, os.Symlink("../../outside", w.root+"/"+w.sub+"dir/link"))
			w.git("add", "-A")
			w.git("commit", "-q", "-m", "third")
			w.git("tag", "-a", "-m", "x", "note")
			w.git("tag", "light", "HEAD~1")
			counted := &counting{Executor: w.exec}
			old := New(older{w.exec})
			w.room = New(counted)
			refs := []string{"HEAD", "", "main", "note", "light", "HEAD~2", "main@{0}", strings.TrimSpace(w.git("rev-parse", "--short", "HEAD"))}
			for i, q := range []query.Cat{
				{In: "a.txt"}, {In: "dir/long"}, {In: "dir/long", Offset: 12_990}, {In: "dir/long", Offset: 13_008}, {In: "dir/long", Offset: 13_009}, {In: "dir/long", Offset: 99_999},
				{In: "dir/long", Line: 2, Lines: 2}, {In: "dir/long", Line: 1001}, {In: "dir/long", Line: 1002}, {In: "dir/long", Line: 5000}, {In: "dir/long", Limit: 13}, {In: "dir/long", Offset: 13_000, Limit: 50},
				{In: "dir/bin"}, {In: "dir/bin", Raw: true}, {In: "dir/latin"}, {In: "dir/empty"}, {In: "dir/empty", Line: 2}, {In: "dir/with space"}, {In: "dir/with\nbreak"},
				{In: "dir/link"}, {In: "dir"}, {In: "nowhere"}, {In: "dir/nowhere"}, {In: "dir/nowhere/x"}, {In: "a.txt/x"},
			} {
				// Each part at HEAD and at another name, and each name with what is there, what
				// isn't and a directory. All with all are two thousand runs and tell no more.
				every := q == query.Cat{In: "a.txt"} || q == query.Cat{In: "nowhere"} || q == query.Cat{In: "dir"}
				for j, ref := range refs {
					if os.Getenv("PADDOCK_LONG") == "" && !every && j != 0 && j != 1+i%(len(refs)-1) {
						continue
					}
					q.Ref = ref
					counted.runs.Store(0)
					a := w.ask(q)
					b, err := old.Ask(t.Context(), Ask{Principal: alice, Door: paddock.DoorGo, Query: q})
					must(t, err)
					if got, want := shown(a), shown(b); got != want {
						t.Errorf("%+v\n%s\nstep by step\n%s", q, got, want)
					}
					easy := a.Content != nil && !strings.Contains(q.In, "\n") || q.In == "nowhere"
					if runs := counted.runs.Load(); easy && runs != 1 {
						t.Errorf("%+v took %d runs", q, runs)
					}
				}
			}
			// A name that leads elsewhere in other places of git is the name of a file here.
			for _, name := range []string{":a.txt", ":(top)a.txt", "^{tree}", "@{0}", "-a"} {
				w.write(w.sub+name, "odd "+name)
				w.git("--literal-pathspecs", "add", "--", w.sub+name)
			}
			w.git("commit", "-q", "-m", "fourth")
			for _, name := range []string{":a.txt", ":(top)a.txt", "^{tree}", "@{0}", "-a"} {
				if a := w.ask(query.Cat{In: name}); a.Content == nil || a.Content.Text != "odd "+name {
					t.Errorf("%s: %+v", name, a)
				}
			}
		})
	}
}

// shown is what an answer says, but for how git was asked.
func shown(a Answer) string {
	return fmt.Sprintf("%t %q %v %+v", a.OK, a.Notes, a.Revisions, a.Content)
}

// older is a git that doesn't know what only newer ones do.
type older struct{ Executor }

func (o older) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	if at := slices.Index(req.Command.Argv, query.Batch[1]); at > 0 {
		req.Command.Argv = slices.Clone(req.Command.Argv)
		req.Command.Argv[at] = "--no-such-option"
	}
	return o.Executor.Start(ctx, req)
}

// What is told of a file whose branch moves while it is read is of one commit.
func TestAFileOfABranchThatMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.room = New(older{w.exec}) // and asked step by step it is another's
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	tree := "100644 a.txt\x00" + strings.Repeat("\x33", 20)
	text := fmt.Sprintf("%s commit 9\n%s tree %d\n%s\n%s commit 9\n%s blob 4\none\n\n", one, two, len(tree), tree, one, strings.Repeat("3", 40))
	if b, err := present.ReadBatch([]byte(text), "a.txt"); err != nil || b.Object == nil || b.Object.Size != 4 || text[b.At:b.At+4] != "one\n" || b.Lines != 5 {
		t.Fatalf("%+v, %v", b, err)
	}
	for name, changed := range map[string]string{
		"the branch moved":  strings.Replace(text, "\n"+one+" commit", "\n"+two+" commit", 1),
		"another blob":      strings.Replace(text, strings.Repeat("3", 40), strings.Repeat("4", 40), 1),
		"it ends too early": text[:len(text)-60],
		"a tree as a file":  strings.Replace(text, " blob ", " tree ", 1),
	} {
		if b, err := present.ReadBatch([]byte(changed), "a.txt"); err == nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// An exchanging executor lets something happen between the look at a repository and git.
type exchanging struct {
	Executor
	before func()
}

func (e exchanging) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	e.before()
	return e.Executor.Start(ctx, req)
}

func (e exchanging) StartBeside(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	return e.Start(ctx, req)
}

// Whoever exchanges a repository after it was looked at gains nothing where runs are
// contained: what a link in its place leads to isn't read.
func TestExchangedRepositoryTellsNothing(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "/svc/pay"} {
		for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
			t.Run(string(level)+below, func(t *testing.T) {
				t.Parallel()
				w := worldOf(t, level, below, "")
				w.commit()
				other := w.private()
				done := false
				w.room = New(exchanging{w.exec, func() {
					if !done {
						must(t, errorsOf(os.Rename(w.root+"/.git", w.root+"/.was"), os.Symlink(other, w.root+"/.git")))
						done = true
					}
				}})
				var told strings.Builder
				for _, q := range []query.Query{query.Log{}, query.Show{}, query.Branches{}, query.Cat{In: "a.txt"}, query.Grep{Pattern: ".", Ref: "HEAD"}, query.ListFiles{}, query.Status{}} {
					a, err := w.try(q)
					fmt.Fprintln(&told, err)
					if err == nil {
						told.WriteString(w.everything(a))
					}
					must(t, errorsOf(os.Remove(w.root+"/.git"), os.Rename(w.root+"/.was", w.root+"/.git")))
					done = false
				}
				if leaks := strings.Contains(told.String(), secret); leaks != (level == paddock.Off) {
					t.Errorf("it tells of the other repository: %t\n%s", leaks, told.String())
				}
				// And as long as nobody does, it is read.
				w.room = New(w.exec)
				if a := w.ask(query.Log{}); len(a.Commits) != 2 {
					t.Errorf("%+v", a)
				}
			})
		}
	}
}

// private makes a repository outside, of the same file names, and returns where its own
// files are.
func (w *world) private() string {
	w.t.Helper()
	root := w.root
	w.root = w.outside + "/private"
	must(w.t, os.Mkdir(w.root, 0o755))
	w.git("init", "-q", "-b", "main")
	w.write(w.sub+"a.txt", secret)
	w.git("add", "-A")
	w.git("commit", "-q", "-m", secret)
	w.git("branch", secret)
	w.root = root
	return w.outside + "/private/.git"
}

// A hook is one that git 2.54 and newer would run: by its documentation one with a
// command, an event, and nothing that ends it. No hook of a repository's settings is left, whatever
// its name; git that knows none is asked what its settings are with all that we say.
func TestConfiguredHooksAreOff(t *testing.T) {
	t.Parallel()
	off, full, before := newWorld(t, paddock.Off), newWorld(t, paddock.Full), map[*world]string{}
	for _, w := range []*world{off, full} {
		w.commit()
		text, err := os.ReadFile(w.root + "/.git/config")
		must(t, err)
		before[w] = string(text)
	}
	w := off
	names := []string{"x", "a.b", "A=B", "with space", "ÄX", "quote\"d", "back\\slash", "enabled", "post-index-change", "-c", strings.Repeat("l", 200), "]", "[hook", "#;", ""}
	var config strings.Builder
	for _, n := range names {
		fmt.Fprintf(&config, "[hook \"%s\"]\n\tevent = post-index-change\n\tevent = reference-transaction\n\tcommand = %s\n\tenabled = true\n", strings.NewReplacer("\\", "\\\\", "\"", "\\\"").Replace(n), w.helper)
	}
	for form, text := range map[string]string{
		"plain": "[hook \"x\"]\n\tevent = post-index-change\n\tcommand = " + w.helper + "\n",
		"names": config.String(), "one line": "[HOOK \"x\"] event = e\n[hook \"x\"] Command = " + w.helper + "\n",
		"old form":     "[hook.Dotted]\nevent=e\ncommand=" + w.helper + "\n",
		"other file":   "[include]\n\tpath = ../more\n",
		"a condition":  "[includeIf \"gitdir:" + full.root + "/\"]\n\tpath = ../more\n",
		"a bare value": "[hook \"x\"]\n\tevent = e\n\tcommand = x\n\tenabled\n",
	} {
		if w = off; strings.Contains(text, "include") { // which is refused there
			w = full
		}
		w.write("more", config.String())
		w.write(".git/config", before[w]+text)
		if len(enabled(w.git("config", "--list", "--null", "--includes"))) == 0 {
			t.Errorf("%s: there is no hook that could be on, so this shows nothing", form)
		}
		look, err := repository.At(w.root)
		must(t, err)
		for _, q := range []query.Query{query.Status{}, query.Diff{}, query.Diff{Base: "HEAD"}} {
			run, err := w.exec.Run(t.Context(), w.ask(q).Run)
			must(t, err)
			words := run.Argv[:slices.Index(run.Argv, q.Tool())]
			if on := enabled(w.run(slices.Concat(words, []string{"config", "--list", "--null", "--includes"}))); len(on) > 0 {
				t.Errorf("%s: with %s the hooks %q are on (%q is where it lies)", form, q.Tool(), on, filepath.Base(look.Dir))
			}
		}
	}
	for w := range before {
		if _, err := os.Stat(w.canary); err == nil {
			t.Error("something was run")
		}
	}
}

// enabled are the hooks that settings, as git lists them, leave on.
func enabled(list string) (on []string) {
	type hook struct{ event, command, off bool }
	all := map[string]*hook{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		key, value, given := strings.Cut(entry, "\n")
		name, ok := strings.CutPrefix(key, "hook.")
		at := strings.LastIndexByte(name, '.')
		if !ok || at < 0 {
			continue
		}
		h := all[name[:at]]
		if h == nil {
			h = &hook{}
			all[name[:at]] = h
		}
		switch name[at+1:] {
		case "event":
			h.event = value != ""
		case "command":
			h.command = value != ""
		case "enabled":
			h.off = given && (value == "" || slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(value)))
		}
	}
	for name, h := range all {
		if h.event && h.command && !h.off {
			on = append(on, name)
		}
	}
	return on
}
