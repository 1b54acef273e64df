//go:build linux

package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// owned is a repository with a branch, a remote and what else git reads of its own.
func owned(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.git("branch", "side/way")
	w.git("config", "branch.main.remote", "origin")
	w.git("config", "branch.main.merge", "refs/heads/main")
	w.git("config", "core.sparseCheckout", "true")
	return w
}

var ownIDs = strings.Repeat("deadbeef00", 4)

// Where git reads a file of its own that a link leads to, it reads nothing outside: none of
// them is opened, whatever it says and whatever is asked. Plain git is shown to open each.
func TestOwnFilesThatAreLinks(t *testing.T) {
	t.Parallel()
	more := []query.Query{
		query.Log{Ref: "main@{0}"}, query.Log{Ref: "FETCH_HEAD"}, query.Log{Ref: "side/way"}, query.Log{Ref: "side/way~1", In: "a.txt"}, query.Cat{Ref: "hooks/x", In: "a.txt"},
		query.Log{Ref: "hooks/x"}, query.Blame{Ref: "hooks/x~1", In: "a.txt"}, query.Log{Ref: "x@{0}"}, query.Log{Ref: "main@{upstream}"}, query.Branches{Kind: "remotes"}, query.Log{Ref: "@{-1}"},
	}
	for name, c := range map[string]struct {
		text, plain string
		told        bool // plain git tells of it
	}{
		".git/remotes/origin":                                {"URL: x\nPull: " + secret + "?*[:y\n", "status", true},
		".git/branches/origin":                               {secret, "status", false},
		".git/objects/info/commit-graphs/commit-graph-chain": {secret + strings.Repeat(" and more", 5) + "\n", "log", true},
		".git/refs/heads/side/way":                           {ownIDs + "\n", "for-each-ref", true},
		".git/refs/remotes/origin/main":                      {ownIDs + "\n", "for-each-ref", true},
		".git/rebase-merge/head-name":                        {secret, "status", false},
		".git/rebase-apply/head-name":                        {secret, "status", false},
		".git/sequencer/todo":                                {secret, "status", false},
		".git/info/sparse-checkout":                          {secret, "diff HEAD", false},
		".git/CHERRY_PICK_HEAD":                              {secret, "status", false},
		".git/FETCH_HEAD":                                    {ownIDs + "\n", "log FETCH_HEAD", false},
		".git/hooks/x":                                       {ownIDs + "\n", "log hooks/x", false},
		".git/logs/HEAD":                                     {secret, "log @{-1}", false},
		".git/logs/refs/heads":                               {secret, "log x@{0}", false}, // a directory
		".git/hooks":                                         {ownIDs + "\n", "log hooks/x", false},
	} {
		w := owned(t)
		file, link := w.outside+"/x", filepath.Join(w.root, name)
		must(t, errorsOf(os.WriteFile(file, []byte(c.text), 0o644), os.RemoveAll(link), os.MkdirAll(filepath.Dir(link), 0o755)))
		w.git("branch", "x")
		if name == ".git/hooks" || name == ".git/logs/refs/heads" {
			must(t, os.RemoveAll(link))
			must(t, os.Symlink(w.outside, link))
		} else {
			must(t, os.Symlink(file, link))
		}
		opened := opens(t, file)
		out, _ := w.plain(strings.Fields(c.plain)...)
		if !opened() || c.told && !strings.Contains(out, secret) && !strings.Contains(out, ownIDs) {
			t.Errorf("%s: plain git doesn't read what is outside, so this shows nothing: %s", name, out)
		}
		some := strings.Contains(name, "hooks") || strings.Contains(name, "logs/refs") // by what is asked
		asked := more
		if !some {
			asked = append(questions(), more...)
		}
		for _, q := range asked {
			_, err := w.try(q)
			if opened() {
				t.Errorf("%s: %#v has it opened", name, q)
			}
			if !some {
				refused(t, err, paddock.RepositoryRefused)
			}
		}
	}
	w := owned(t) // as people have hooks, and a git that watches files a socket
	must(t, errorsOf(unix.Mknod(w.root+"/.git/socket", unix.S_IFSOCK|0o600, 0), os.RemoveAll(w.root+"/.git/hooks"), os.Symlink(w.outside, w.root+"/.git/hooks")))
	for _, q := range questions() {
		if a := w.ask(q); !a.OK {
			t.Errorf("%s: %+v", q.Tool(), a)
		}
	}
}

// opens returns what reports whether a file was opened since.
func opens(t *testing.T, file string) func() bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Close(fd)) })
	_, err = unix.InotifyAddWatch(fd, file, unix.IN_OPEN)
	must(t, err)
	return func() bool {
		var events [4096]byte
		n, err := unix.Read(fd, events[:])
		return err == nil && n > 0
	}
}

// What is no file, or lies where none is looked for, is refused at once, and nobody waits.
func TestOwnFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"a pipe among branches": func(w *world) { must(w.t, mkfifo(w.root+"/.git/refs/heads/side/pipe")) },
		"a pipe for a graph":    func(w *world) { must(w.t, mkfifo(w.root+"/.git/objects/info/commit-graph")) },
		"a pipe in the middle":  func(w *world) { must(w.t, mkfifo(w.root+"/.git/FETCH_HEAD")) },
		"a deep directory": func(w *world) {
			must(w.t, os.MkdirAll(w.root+"/.git/refs/heads/"+strings.Repeat("d/", 200), 0o755))
		},
		"a directory for HEAD": func(w *world) {
			must(w.t, errorsOf(os.Remove(w.root+"/.git/HEAD"), os.Mkdir(w.root+"/.git/HEAD", 0o755)))
		},
		"a directory for packed": func(w *world) { must(w.t, os.Mkdir(w.root+"/.git/packed-refs", 0o755)) },
		"a directory for settings": func(w *world) {
			must(w.t, errorsOf(os.Remove(w.root+"/.git/config"), os.Mkdir(w.root+"/.git/config", 0o755)))
		},
		"a directory for an index": func(w *world) {
			must(w.t, errorsOf(os.Remove(w.root+"/.git/index"), os.Mkdir(w.root+"/.git/index", 0o755)))
		},
		"a file for objects": func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(w.root+"/.git/objects"), os.WriteFile(w.root+"/.git/objects", nil, 0o644)))
		},
		"a file for refs": func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(w.root+"/.git/refs"), os.WriteFile(w.root+"/.git/refs", nil, 0o644)))
		},
		"a file for branches": func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(w.root+"/.git/refs/heads"), os.WriteFile(w.root+"/.git/refs/heads", nil, 0o644)))
		},
		"no objects": func(w *world) { must(w.t, os.RemoveAll(w.root+"/.git/objects")) },
	} {
		w := owned(t)
		spoil(w)
		begun := time.Now()
		for _, q := range []query.Query{query.Show{}, query.Log{Ref: "main~1", In: "a.txt"}, query.Status{}, query.Grep{Pattern: "one"}, query.ListFiles{}, query.Branches{}, query.Cat{In: "a.txt"}} {
			a, err := w.try(q)
			if _, said := errors.AsType[*paddock.Refusal](err); err != nil && !said {
				t.Errorf("%s: %s: %v", name, q.Tool(), err)
			}
			if err == nil && a.State != "" && a.State != paddock.Exited {
				t.Errorf("%s: %s: %+v", name, q.Tool(), a)
			}
			if strings.HasPrefix(name, "a pipe") || strings.HasPrefix(name, "a deep") {
				refused(t, err, paddock.RepositoryRefused)
			}
		}
		if took := time.Since(begun); took > 50*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// Who makes it take long to look at a working tree doesn't keep anybody for longer than they wait.
func TestLookingEndsWithWhoAsks(t *testing.T) {
	t.Parallel()
	w := tracking(t)
	look, err := repository.At(w.root)
	must(t, err)
	if !look.Unmoved(t.Context()) {
		t.Error("nothing has moved")
	}
	must(t, look.Directories(t.Context(), []string{"b.d", "c/d"}))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if look.Unmoved(over) {
		t.Error("it goes on")
	}
	if err := look.Directories(over, []string{"b.d", "c/d"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if err := look.Directories(late, []string{"b.d"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// What can't be looked at is refused, and is no fault of ours.
func TestOwnFilesThatNobodyMayRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; TestOrdinaryUser asks as somebody else")
	}
	for _, name := range []string{"refs", "refs/heads/side", "HEAD", "objects", "objects/info", "."} {
		w := owned(t)
		at := filepath.Join(w.root, ".git", name)
		must(t, os.Chmod(at, 0))
		_, err := w.try(query.Log{})
		must(t, os.Chmod(at, 0o755))
		refused(t, err, paddock.RepositoryRefused)
	}
}

// Of a submodule whose own files, or the way to them, lie outside of the root nothing is told, and of
// others which commit they are at. Plain git is shown to tell.
func TestSubmodulesElsewhere(t *testing.T) {
	t.Parallel()
	made := func(w *world) {
		must(w.t, os.MkdirAll(w.root+"/sub/.git/refs/heads", 0o755))
		must(w.t, os.Mkdir(w.root+"/sub/.git/objects", 0o755))
	}
	for name, c := range map[string]struct {
		ready func(w *world, other string)
		told  bool
	}{
		"a file .git": {func(w *world, other string) { w.write("sub/.git", "gitdir: "+other+"\n") }, false},
		"back from a link": {func(w *world, other string) {
			must(w.t, os.Symlink(other+"/refs", w.root+"/out"))
			made(w)
			must(w.t, os.Rename(w.root+"/sub/.git", w.root+"/.git2"))
			w.write(".git2/HEAD", "ref: refs/heads/main\n")
			w.write(".git2/commondir", "../out/../\n")
			w.write("sub/.git", "gitdir: ../.git2\n")
		}, false},
		".git is a link": {func(w *world, other string) {
			must(w.t, errorsOf(os.Mkdir(w.root+"/sub", 0o755), os.Symlink(other, w.root+"/sub/.git")))
		}, false},
		"commondir": {func(w *world, other string) {
			made(w)
			w.write("sub/.git/HEAD", "ref: refs/heads/main\n")
			w.write("sub/.git/commondir", other+"\n")
		}, false},
		"a branch is a link": {func(w *world, other string) {
			made(w)
			w.write("sub/.git/HEAD", "ref: refs/heads/main\n")
			must(w.t, os.Symlink(other+"/refs/heads/main", w.root+"/sub/.git/refs/heads/main"))
		}, false},
		"inside": {func(w *world, other string) { must(w.t, os.CopyFS(w.root+"/sub/.git", os.DirFS(other))) }, true},
		"among ours": {func(w *world, other string) {
			must(w.t, os.CopyFS(w.root+"/.git/modules/sub", os.DirFS(other)))
			w.write("sub/.git", "gitdir: ../.git/modules/sub\n")
		}, true},
	} {
		for _, version := range []string{"2", "4"} {
			w := newWorld(t, paddock.Off)
			w.commit()
			other := w.other()
			id := strings.TrimSpace(w.git("--git-dir="+other, "rev-parse", "main"))
			w.git("update-index", "--index-version="+version, "--add", "--cacheinfo", "160000,"+strings.TrimSpace(w.git("rev-parse", "HEAD~1"))+",sub")
			c.ready(w, other)
			if out, _ := w.plain("diff", "--ignore-submodules=dirty"); !strings.Contains(out, id) {
				t.Errorf("%s: plain git doesn't tell, so this shows nothing: %s", name, out)
			}
			for _, q := range []query.Query{query.Diff{}, query.Diff{Base: "HEAD~1"}, query.Diff{In: "sub"}} {
				a := w.ask(q)
				if told := strings.Contains(w.everything(a), id); told != (c.told && version == "2") {
					t.Errorf("%s, %s: %#v: %+v", name, version, q, a)
				} else if !told {
					hasNote(t, a, "submodules")
				}
			}
			hasSub := len(w.ask(query.Status{}).Changes) // of which the commit differs
			if told := c.told && version == "2"; told && hasSub < 2 {
				t.Errorf("%s: %d changes", name, hasSub)
			}
		}
	}
	// Nor does the repository itself lie where .. leads back from a link.
	for _, to := range []string{"../out/../", "out/../../.git", "../../outside/other/.git\x00/../../../../root/.git"} {
		w := newWorld(t, paddock.Off)
		w.commit()
		other := w.other()
		must(t, errorsOf(os.Symlink(other+"/refs", w.root+"/out"), os.Rename(w.root+"/.git", w.root+"/old"), os.Mkdir(w.root+"/.git", 0o755)))
		w.write(".git/HEAD", "ref: refs/heads/main\n")
		w.write(".git/commondir", to+"\n")
		_, err := w.try(query.Log{})
		refused(t, err, paddock.RepositoryRefused)
	}
}
