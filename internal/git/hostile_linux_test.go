//go:build linux

package git

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
)

// An attack readies a hostile repository. By each of fires plain git is shown to
// run the helper, so that a test which sees nothing has something to miss.
type attack struct {
	name  string
	ready func(w *world)
	fires [][]string
	// refused is set where the tools don't read such a repository at all.
	refused bool
}

func set(key, value string) func(*world) {
	return func(w *world) { w.git("config", key, strings.ReplaceAll(value, "HELPER", w.helper)) }
}

// driver gives every file an attribute, in a file that git reads it from.
func driver(file, attribute string, settings ...string) func(*world) {
	return func(w *world) {
		w.write(file, "* "+attribute+"\n")
		for i := 0; i < len(settings); i += 2 {
			set(settings[i], settings[i+1])(w)
		}
	}
}

// promised takes a blob away that a remote is said to have.
func promised(settings ...string) func(*world) {
	return func(w *world) {
		blob := strings.TrimSpace(w.git("rev-parse", "HEAD:"+w.sub+"a.txt"))
		must(w.t, os.Remove(filepath.Join(w.root, ".git/objects", blob[:2], blob[2:])))
		all := append([]string{"core.repositoryformatversion", "1", "extensions.partialClone", "origin", "remote.origin.promisor", "true"}, settings...)
		for i := 0; i < len(all); i += 2 {
			set(all[i], all[i+1])(w)
		}
	}
}

func attacks() []attack {
	ways := func(all ...string) (out [][]string) {
		for _, words := range all {
			out = append(out, strings.Fields(words))
		}
		return out
	}
	diff, show, status := ways("diff"), ways("show"), ways("status")
	changed := ways("diff", "status")                                             // what looks whether files changed
	everywhere := ways("diff", "status", "grep one")                              // what reads the index
	objects := ways("show", "grep one HEAD", "cat-file blob HEAD:a.txt")          // what reads a file of a commit
	lost := ways("for-each-ref --format=%(subject)", "ls-tree -l HEAD~1", "show") // what reads a commit
	return []attack{
		{"fsmonitor", set("core.fsmonitor", "HELPER"), everywhere, false},
		{"hooksPath", func(w *world) {
			w.same()
			w.write("hooks/post-index-change", "#!/bin/sh\nexec "+w.helper+"\n")
			must(w.t, os.Chmod(w.root+"/hooks/post-index-change", 0o755))
			set("core.hooksPath", w.root+"/hooks")(w)
		}, status, false},
		{"hook", func(w *world) {
			w.same()
			w.write(".git/hooks/post-index-change", "#!/bin/sh\nexec "+w.helper+"\n")
			must(w.t, os.Chmod(w.root+"/.git/hooks/post-index-change", 0o755))
		}, status, false},
		{"diff.external", set("diff.external", "HELPER"), diff, false},
		{"diff command", driver(".gitattributes", "diff=x", "diff.x.command", "HELPER"), diff, false},
		{"textconv", driver(".gitattributes", "diff=x", "diff.x.textconv", "HELPER"), show, false},
		{"textconv of info", driver(".git/info/attributes", "diff=x", "diff.x.textconv", "HELPER"), show, false},
		{"filter clean", driver(".gitattributes", "filter=x", "filter.x.clean", "HELPER"), changed, false},
		{"filter process", driver(".gitattributes", "filter=x", "filter.x.process", "HELPER"), changed, false},
		{"smudge and textconv of one file", driver(".gitattributes", "filter=x diff=x", "filter.x.smudge", "HELPER", "diff.x.textconv", "HELPER"),
			ways("cat-file --filters HEAD:a.txt", "cat-file --textconv HEAD:a.txt"), false},
		{"filter required", driver(".gitattributes", "filter=x", "filter.x.clean", "HELPER", "filter.x.required", "true"), changed, false},
		{"filter with an odd name", driver(".gitattributes", "filter=x.y=z", "filter.x.y=z.clean", "HELPER"), changed, false},
		{"filter in upper case", driver(".gitattributes", "filter=ÄX", "FILTER.ÄX.Clean", "HELPER"), changed, false},
		{"filter of an included file", func(w *world) {
			driver(".gitattributes", "filter=x", "include.path", w.root+"/more")(w)
			w.write("more", "[filter \"x\"]\n\tclean = "+w.helper+"\n")
		}, changed, false},
		{"gpg", func(w *world) {
			commit := strings.Replace(w.git("cat-file", "commit", "HEAD"), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n", 1)
			w.write("signed", commit)
			w.git("update-ref", "HEAD", strings.TrimSpace(w.git("hash-object", "-t", "commit", "-w", "signed")))
			set("gpg.program", "HELPER")(w)
			set("log.showSignature", "true")(w)
		}, ways("log"), false},
		{"lazy fetch by ssh", promised("remote.origin.url", "ssh://x/y", "core.sshCommand", "HELPER"), objects, false},
		{"lazy fetch by uploadpack", promised("remote.origin.url", "/nowhere", "remote.origin.uploadpack", "HELPER"), objects, false},
		{"lazy fetch by ext", promised("remote.origin.url", "ext::HELPER", "protocol.ext.allow", "always"), objects, false},
		{"lazy fetch by proxy", promised("remote.origin.url", "git://x/y", "core.gitProxy", "HELPER"), objects, false},
		{"lazy fetch by vcs", func(w *world) {
			must(w.t, os.Mkdir(w.root+"/git-remote-x", 0o755)) // git looks for git-remote- and the name
			promised("remote.origin.url", "/nowhere", "remote.origin.vcs", "x/../helper.sh")(w)
		}, objects, false},
		{"lazy fetch of a commit", func(w *world) {
			commit := strings.TrimSpace(w.git("rev-parse", "HEAD~1"))
			w.git("tag", "lost", commit)
			promised("remote.origin.url", "ext::HELPER", "protocol.ext.allow", "always")(w)
			must(w.t, os.Remove(filepath.Join(w.root, ".git/objects", commit[:2], commit[2:])))
		}, lost, false},
		{"summary of submodules", func(w *world) {
			w.nested(w.sub + "nested")
			set("status.submoduleSummary", "true")(w)
			set("diff.ignoreSubmodules", "none")(w)
		}, status, false},
		{"included settings", func(w *world) {
			set("include.path", w.root+"/more")(w)
			w.write("more", "[core]\n\tfsmonitor = "+w.helper+"\n")
		}, everywhere, false},
		{"settings of the worktree", func(w *world) {
			set("extensions.worktreeConfig", "true")(w)
			w.write(".git/config.worktree", "[core]\n\tfsmonitor = "+w.helper+"\n")
		}, everywhere, false},
		{"nested repository", func(w *world) { w.nested(w.sub + "nested") }, changed, false},
		{"submodule", func(w *world) {
			w.nested(w.sub + "nested")
			must(w.t, errorsOf(os.Mkdir(w.root+"/.git/modules", 0o755), os.Rename(w.root+"/"+w.sub+"nested/.git", w.root+"/.git/modules/nested")))
			w.write(w.sub+"nested/.git", "gitdir: "+w.root+"/.git/modules/nested\n")
			w.write(".gitmodules", "[submodule \"nested\"]\n\tpath = "+w.sub+"nested\n\turl = ./nested\n")
		}, changed, false},
		{"repository in the place of files", func(w *world) {
			set("core.worktree", w.root)(w)
			set("core.fsmonitor", "HELPER")(w)
			must(w.t, os.CopyFS(w.root, os.DirFS(w.root+"/.git")))
			must(w.t, os.RemoveAll(w.root+"/.git"))
		}, everywhere, false},
		{"merge driver", func(w *world) {
			w.git("checkout", "-q", "--", ".")
			w.git("switch", "-q", "-c", "side", "HEAD~1")
			w.write(w.sub+"a.txt", "ONE\ntwo\n")
			w.git("commit", "-q", "-a", "-m", "side")
			w.git("switch", "-q", "main")
			w.git("merge", "-q", "-s", "ours", "-m", "merge", "side")
			driver(".gitattributes", "merge=x", "merge.x.driver", "HELPER", "log.diffMerges", "remerge")(w)
		}, ways("show -m"), false},
		{"repository elsewhere", func(w *world) {
			must(w.t, os.Rename(w.root+"/.git", w.outside+"/repo"))
			w.write(".git", "gitdir: "+w.outside+"/repo\n")
			set("core.fsmonitor", "HELPER")(w)
		}, diff, true},
		// These start nothing here: one of a newer git than most have, the others where git
		// has a terminal, or for what the tools don't ask.
		{"configured hook", func(w *world) {
			set("hook.x.event", "post-index-change")(w)
			set("hook.x.command", "HELPER")(w)
		}, nil, false},
		{"pagers and aliases", func(w *world) {
			for _, key := range []string{
				"core.pager", "pager.log", "pager.diff", "pager.status", "pager.branch", "pager.grep", "core.editor", "sequence.editor", "core.askPass", "credential.helper",
				"core.alternateRefsCommand", "uploadpack.packObjectsHook", "trailer.x.command", "interactive.diffFilter", "man.x.cmd", "browser.x.cmd",
			} {
				set(key, "HELPER")(w)
			}
			for _, name := range []string{"log", "diff", "status", "cat-file", "for-each-ref"} {
				set("alias."+name, "!HELPER")(w)
			}
			set("trace2.eventTarget", w.canary)(w)
		}, nil, false},
		{"settings elsewhere", func(w *world) {
			must(w.t, os.Rename(w.root+"/.git", w.outside+"/repo"))
			must(w.t, os.Mkdir(w.root+"/.git", 0o755))
			w.write(".git/HEAD", "ref: refs/heads/main\n")
			w.write(".git/commondir", w.outside+"/repo\n")
			set("core.fsmonitor", "HELPER")(w)
		}, diff, true},
	}
}

// nested puts a repository with a setting of its own below.
func (w *world) nested(name string) {
	w.t.Helper()
	outer := w.root
	w.root = filepath.Join(outer, name)
	must(w.t, os.Mkdir(w.root, 0o755))
	sub := w.sub
	w.sub = ""
	w.commit()
	w.sub = sub
	set("core.fsmonitor", w.helper)(w)
	w.root = outer
	w.git("add", name)
	w.git("commit", "-q", "-m", "nested")
}

// touched writes the file anew, as long as it is in the commit and of another time,
// so that what was read before must be looked at again. What same added has another time
// and the same content, so that git writes its index anew whenever it looks: otherwise
// it would only where a file and the index happen to be of one moment.
func (w *world) touched(n int) {
	w.t.Helper()
	w.write(w.sub+"a.txt", "one\nTWO\nthre"+string(rune('A'+n))+"\n")
	at := time.Date(2030, 1, 1, 0, n, 0, 0, time.UTC)
	for _, name := range []string{w.sub + "a.txt", "same.txt"} {
		if err := os.Chtimes(w.root+"/"+name, at, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
}

// same adds a file of which touched changes the time alone.
func (w *world) same() {
	w.t.Helper()
	w.write("same.txt", "same\n")
	w.git("add", "same.txt")
}

func (w *world) attacked(a attack) {
	w.t.Helper()
	w.commit()
	w.write(w.sub+"helper.sh", "#!/bin/sh\necho fired >> "+w.canary+"\necho fired >&2\nexit 1\n")
	must(w.t, os.Chmod(w.helper, 0o755))
	must(w.t, os.Chmod(w.outside, 0o777))
	a.ready(w)
	w.touched(0)
	for i, words := range a.fires {
		out, _ := w.plain(w.fired(words)...) // most helpers are bad at what they are taken for
		if _, err := os.Stat(w.canary); err != nil {
			w.t.Fatalf("plain git %v doesn't run the helper, so this attack shows nothing: %s", words, out)
		}
		must(w.t, os.Remove(w.canary))
		w.touched(i + 1)
		if w.sub != "" {
			break // the others are shown where the root is the repository
		}
	}
}

// fired are the words by which plain git runs the helper, about the file of the world.
func (w *world) fired(words []string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.Replace(words[i], ":a.txt", ":"+w.sub+"a.txt", 1)
	}
	return words
}

// By construction alone, without any containment, nothing runs; nor where the root is a
// directory of such a repository.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "/svc/pay"} {
		for _, a := range attacks() {
			t.Run(a.name+below, func(t *testing.T) {
				t.Parallel()
				if below != "" && (a.name == "repository in the place of files" || a.name == "lazy fetch by vcs") {
					return // which are about the top of a repository
				}
				w := worldOf(t, paddock.Off, below, "")
				w.attacked(a)
				w.runsNothing(a)
			})
		}
	}
}

func (w *world) runsNothing(a attack) {
	t := w.t
	t.Helper()
	questions := dangerous()
	if w.sub != "" { // one of each way of asking
		questions = []query.Query{query.Log{Format: "stat"}, query.Show{}, query.Diff{}, query.Status{Untracked: "all"}, query.Grep{Pattern: "one", Ref: "HEAD"}}
	}
	for _, q := range questions {
		if strings.HasPrefix(a.name, "filter ") && !q.Worktree() || strings.HasPrefix(a.name, "lazy ") && q.Worktree() {
			continue // these are about the other kind
		}
		answer, err := w.try(q)
		refusal, _ := errors.AsType[*paddock.Refusal](err)
		switch {
		case a.refused, strings.Contains(a.name, "included"): // since what is included may lie anywhere
			refused(t, err, paddock.RepositoryRefused)
		case refusal != nil && refusal.Code == paddock.RevisionInvalid && a.name == "lazy fetch of a commit":
		case err != nil:
			t.Errorf("%s: %v", q.Tool(), err)
		case answer.ExitCode == nil && !answer.Bare && (answer.Content == nil || answer.Content.Size >= 0):
			t.Errorf("%s: %+v", q.Tool(), answer)
		}
		if _, err := os.Stat(w.canary); err == nil {
			t.Fatalf("%s ran the helper", q.Tool())
		}
	}
}

// By containment alone, with a plain command in the place of ours, no program but git
// itself is executed, nothing is changed and nothing outside is reached.
func TestContainmentHoldsPlainGit(t *testing.T) {
	t.Parallel()
	// For a root below a repository's top a few ways of starting a program show it.
	few := func(a attack) bool {
		return strings.HasPrefix(a.name, "filter") || strings.HasPrefix(a.name, "textconv") || a.name == "fsmonitor" || a.name == "diff.external" || a.refused
	}
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		for _, below := range []string{"", "/svc/pay"} {
			for _, a := range attacks() {
				if len(a.fires) == 0 || below != "" && !few(a) {
					continue
				}
				t.Run(string(level)+"/"+a.name+below, func(t *testing.T) {
					t.Parallel()
					w := worldOf(t, level, below, "")
					w.attacked(a)
					w.plainly(w.fired(a.fires[len(a.fires)-1]))
				})
			}
		}
	}
}

// plainGit begins a contained command of git that isn't ours. Where the root is a
// directory of the repository it is told that: what is above is another file system, where
// it doesn't look.
func (w *world) plainGit() []string {
	words := []string{"git", "-c", "safe.directory=*"}
	if w.sub != "" {
		words = append(words, "--git-dir="+w.root+"/.git", "--work-tree="+w.root)
	}
	return words
}

// plainly runs plain git in the policy's root, contained.
func (w *world) plainly(words []string) {
	t := w.t
	t.Helper()
	run, err := w.exec.Start(t.Context(), paddock.Request{
		Principal: alice, Door: paddock.DoorGo, Room: Name,
		Command: paddock.Command{Argv: slices.Concat(w.plainGit(), words), Dir: filepath.Join(w.root, w.sub)},
	})
	must(t, err)
	run, err = w.exec.Wait(t.Context(), run.ID)
	must(t, err)
	if _, err := os.Stat(w.canary); err == nil || !run.State.Settled() {
		t.Errorf("what git ran could write outside (%s)", run.State)
	}
	if said := w.everything(Answer{Run: run.ID}); strings.Contains(said, "fired") || run.Enforced == nil || run.Enforced.Exec != paddock.ListedExec {
		t.Errorf("git ran another program: %s", said)
	}
}

// The root can't be written, not by git itself either.
func TestTheRootIsReadOnly(t *testing.T) {
	t.Parallel()
	writes := []string{"add a.txt", "checkout -- a.txt", "rm -q -f a.txt", "mv a.txt b.txt", "config x.y z", "branch new", "init -q new"}
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, level)
			w.commit()
			must(t, filepath.WalkDir(w.root, func(name string, d fs.DirEntry, err error) error {
				return errorsOf(err, os.Chmod(name, 0o777)) // no rights keep anybody from it
			}))
			before := w.holds()
			for _, words := range writes {
				run, err := w.exec.Start(t.Context(), paddock.Request{
					Principal: alice, Door: paddock.DoorGo, Room: Name,
					Command: paddock.Command{Argv: append([]string{"git", "-c", "safe.directory=*"}, strings.Fields(words)...), Dir: w.root},
				})
				must(t, err)
				run, err = w.exec.Wait(t.Context(), run.ID)
				must(t, err)
				if status, ok := parse.Exited(run); !ok || status == 0 {
					t.Errorf("%q: %s, status %d", words, run.State, status)
				}
			}
			if after := w.holds(); after != before {
				t.Errorf("the root holds\n%s\nand held\n%s", after, before)
			}
			for _, words := range writes[:3] {
				w.git(strings.Fields(words)...) // else all of that shows nothing
			}
		})
	}
}

// holds tells every file of the root.
func (w *world) holds() string {
	w.t.Helper()
	var all strings.Builder
	must(w.t, filepath.WalkDir(w.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&all, name)
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(&all, "%s %x\n", name, sha256.Sum256(text))
		return err
	}))
	return all.String()
}

// Nothing outside of the root is told of, without any containment.
func TestHostileRepositoryReadsNothingOutside(t *testing.T) {
	t.Parallel()
	for name, ready := range map[string]func(w *world){
		"mailmap":        func(w *world) { set("mailmap.file", w.outside+"/secret.txt")(w) },
		"core.worktree":  func(w *world) { set("core.worktree", w.outside)(w) },
		"ignoreRevsFile": func(w *world) { set("blame.ignoreRevsFile", w.outside+"/secret.txt")(w) },
		"orderFile":      func(w *world) { set("diff.orderFile", w.outside+"/secret.txt")(w) },
		"attributesFile": func(w *world) { set("core.attributesFile", w.outside+"/secret.txt")(w) },
		"alternates":     func(w *world) { w.write(".git/objects/info/alternates", w.other()+"/objects\n") },
		"linked objects": func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(w.root+"/.git/objects"), os.Symlink(w.other()+"/objects", w.root+"/.git/objects")))
		},
		"included settings": func(w *world) {
			w.write(w.outside+"/config", "[branch \"main\"]\n\tremote = .\n\tmerge = refs/heads/"+secret+"\n[filter \""+secret+"\"]\n\tclean = false\n")
			set("include.path", w.outside+"/config")(w)
		},
		"settings that are none": func(w *world) {
			w.write(".git/config", "[core]\n\trepositoryformatversion = 0\n[includeIf \"gitdir:**\"]path="+w.outside+"/secret.txt\n")
		},
		"settings of the worktree": func(w *world) {
			set("extensions.worktreeConfig", "true")(w)
			w.write(".git/config.worktree", "[Include]path="+w.outside+"/secret.txt\n")
		},
		"a linked object": func(w *world) {
			other := w.other()
			blob := strings.TrimSpace(w.git("--git-dir="+other, "rev-parse", "main:a.txt"))
			file := "/objects/" + blob[:2] + "/" + blob[2:]
			must(w.t, errorsOf(os.MkdirAll(filepath.Dir(w.root+"/.git"+file), 0o755), os.Symlink(other+file, w.root+"/.git"+file)))
			w.git("update-index", "--cacheinfo", "100644,"+blob+",a.txt")
			w.git("commit", "-q", "-m", "third")
		},
		"linked refs": func(w *world) { must(w.t, os.Symlink(w.outside+"/secret.txt", w.root+"/.git/refs/heads/x")) },
		"linked index": func(w *world) {
			must(w.t, errorsOf(os.Remove(w.root+"/.git/index"), os.Symlink(w.outside+"/secret.txt", w.root+"/.git/index")))
		},
		"linked .git": func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(w.root+"/.git"), os.Symlink(w.other(), w.root+"/.git")))
		},
		"linked file": func(w *world) {
			must(w.t, errorsOf(os.Remove(w.root+"/a.txt"), os.Symlink(w.outside+"/secret.txt", w.root+"/a.txt")))
		},
		"linked mailmap":  func(w *world) { must(w.t, os.Symlink(w.outside+"/secret.txt", w.root+"/.mailmap")) },
		"a pipe for HEAD": func(w *world) { must(w.t, errorsOf(os.Remove(w.root+"/.git/HEAD"), mkfifo(w.root+"/.git/HEAD"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, paddock.Off)
			w.commit()
			ready(w)
			for _, q := range append(dangerous(), query.Log{}) {
				a, err := w.try(q)
				told := fmt.Sprint(err)
				if err == nil {
					told = w.everything(a)
				}
				if strings.Contains(told, secret) {
					t.Errorf("%s tells of what is outside: %s", q.Tool(), told)
				}
			}
		})
	}
}

// other makes a repository outside and returns where its own files are.
func (w *world) other() string {
	root := w.root
	w.root = w.outside + "/other"
	must(w.t, os.Mkdir(w.root, 0o755))
	w.git("init", "-q", "-b", "main")
	w.write("a.txt", secret)
	w.git("add", "-A")
	w.git("commit", "-q", "-m", secret)
	w.root = root
	return w.outside + "/other/.git"
}

// No value that a caller can send becomes a flag, a search or another place. The
// words are those by which git was seen to write, to run or to read outside.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "/svc/pay"} {
		t.Run("root"+below, func(t *testing.T) {
			t.Parallel()
			w := worldOf(t, paddock.Off, below, "")
			w.commit()
			w.takesValues()
		})
	}
}

func (w *world) takesValues() {
	t := w.t
	t.Helper()
	written, other := w.outside+"/written", w.other()
	words := []string{
		"--output=" + written, "--output", "-O" + w.helper, "-lO" + w.helper, "--open-files-in-pager=" + w.helper, "--ext-diff", "--textconv", "--help",
		"-c", "--config-env=core.fsmonitor=HOME", "--exec-path=" + w.outside, "-C", "--git-dir=" + other, "--work-tree=" + w.outside, "--paginate", "--no-index",
		"--contents=" + w.outside + "/secret.txt", "--ignore-revs-file=" + w.outside + "/secret.txt", "-S", "-f", "-X", "--stdin", "--pathspec-from-file=" + w.outside + "/secret.txt",
		"--show-signature", "--remerge-diff", "--diff-merges=remerge", "--submodule=diff", "--recurse-submodules", "--upload-pack=" + w.helper, "--exec=" + w.helper,
		"--format=%G?", "--pretty=format:%GK", "--batch", "--cached", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "--all", "--glob=*", "-", "--", "^HEAD", "HEAD..HEAD", "HEAD...HEAD~1", "HEAD^{/first}", ":/first", "HEAD:a.txt", ":0:a.txt", "@{-99}x y", "HEAD^@", "HEAD^!", "HEAD^-",
		"HEAD^{/" + strings.Repeat("(a+)+", 20) + "}", "HEAD\n--output=" + written, "HEAD\x00", "ref with space", "é", "\xff", strings.Repeat("a", 201), "..", "../outside", "HEAD --output=x",
		"--outpu=" + written, "--out=" + written, "--check", "--ext-d", "--textc", "--no-in", "--open-files-in-p=" + w.helper, "--exclude-from=" + w.outside + "/secret.txt",
		"--git-dir", "--work-tree", "-L1,2:a.txt", "-o", "-p", "-v", "-O", "-1", "--ignore-submodules=all", "--no-follow", "--follow", "--full-tree", "--relative=..", "--no-relative",
		"alias.x=!" + w.helper, "core.fsmonitor=" + w.helper, other, w.outside,
	}
	for _, word := range words {
		for _, q := range []query.Query{
			query.Log{Ref: word}, query.Show{Ref: word}, query.Diff{Base: word}, query.Diff{Base: "HEAD", Head: word}, query.Blame{Ref: word, In: "a.txt"},
			query.MergeBase{Base: word, Head: "HEAD"}, query.MergeBase{Base: "HEAD", Head: word}, query.Log{Since: word}, query.Log{Format: word},
			query.Grep{Ref: word, Pattern: "one"}, query.Cat{Ref: word, In: "a.txt"}, query.Status{Untracked: word}, query.Branches{Kind: word},
		} {
			if _, err := w.try(q); err == nil {
				t.Errorf("%#v was answered", q)
			}
		}
	}
	paths := append(words, w.outside+"/secret.txt", "/etc/passwd", "../outside/secret.txt", "a/../../outside/secret.txt", ":(top)", ":/", ":(glob)**", "*", ":(exclude)x", "a.txt/../..", strings.Repeat("a/", 3000))
	must(t, os.Symlink(w.outside, w.root+"/"+w.sub+"link"))
	paths = append(paths, "link/secret.txt", "link/../../outside/secret.txt")
	for _, name := range paths {
		for _, q := range []query.Query{query.ListFiles{In: name}} {
			a, err := w.try(q)
			if err == nil && len(a.Commits)+len(a.Entries)+len(a.Lines) > 0 || strings.Contains(fmt.Sprint(err)+w.everything(a), secret) {
				t.Errorf("%#v has an answer: %+v", q, a)
			}
		}
	}
	for _, name := range []string{w.outside + "/secret.txt", "/etc/passwd", "../outside/secret.txt", "link/secret.txt", "a.txt/../.."} {
		for _, q := range []query.Query{query.Blame{In: name}, query.Status{In: name}, query.Grep{In: name, Pattern: "."}, query.Grep{In: name, Pattern: ".", Ref: "HEAD"}, query.Cat{In: name}} {
			_, err := w.try(q)
			refused(t, err, paddock.PathOutsideRoot)
		}
	}
	for _, word := range []string{"-O" + w.helper, "--open-files-in-pager=" + w.helper, "-f" + w.outside + "/secret.txt", "--no-index", "--", "-e", "--textconv", "--not", "("} {
		for _, q := range []query.Query{query.Grep{Pattern: word, Fixed: true, Ref: "HEAD"}, query.Grep{Pattern: word, Fixed: true, Word: true}} {
			a, err := w.try(q)
			if err != nil || len(a.Matches) > 0 || a.ExitCode == nil || *a.ExitCode != 1 || a.Stderr != "" || strings.Contains(w.everything(a), secret) {
				t.Errorf("%#v: %+v, %v", q, a, err)
			}
		}
	}
	for _, name := range []string{written, w.canary} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
