//go:build linux

package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// What git would follow further than we can is refused, and not taken for harmless: plain git is shown to
// read what lies outside.
func TestLinksThatAreFollowedFurther(t *testing.T) {
	t.Parallel()
	links := func(w *world, from string) {
		for i := range 11 {
			must(w.t, os.Symlink(fmt.Sprintf("l%d", i+1), filepath.Join(w.root, fmt.Sprintf("l%d", i))))
		}
		must(w.t, errorsOf(os.Symlink("../outside", w.root+"/l11"), os.RemoveAll(filepath.Join(w.root, from)), os.Symlink("l0", filepath.Join(w.root, from))))
	}
	deep := strings.Repeat("d/", 300)
	for name, c := range map[string]struct {
		file  string
		spoil func(w *world)
	}{
		"many links":            {"aa/secret.txt", func(w *world) { links(w, "aa") }},
		"many links, and below": {"aa/sub/secret.txt", func(w *world) { w.write(w.outside+"/sub/secret.txt", secret+"\n"); links(w, "aa") }},
		"a deep directory": {deep + "x/secret.txt", func(w *world) {
			must(w.t, errorsOf(os.RemoveAll(filepath.Join(w.root, deep, "x")), os.Symlink(w.outside, filepath.Join(w.root, deep, "x"))))
		}},
		"back from a link": {"aa/__/b/secret.txt", func(w *world) {
			w.write(w.outside+"/b/secret.txt", secret+"\n")
			w.write(w.outside+"/sub/f", "")
			index := w.root + "/.git/index"
			text, err := os.ReadFile(index)
			must(w.t, errorsOf(err, os.RemoveAll(w.root+"/aa"), os.Symlink("../outside/sub", w.root+"/aa"), os.Mkdir(w.root+"/b", 0o700)))
			must(w.t, os.WriteFile(index, bytes.Replace(text, []byte("aa/__/b"), []byte("aa/../b"), 1), 0o644))
		}},
	} {
		for _, version := range []string{"2", "4"} { // which is read here, and which isn't
			w := newWorld(t, paddock.Off)
			w.git("init", "-q", "-b", "main")
			w.write(c.file, "one\n")
			w.git("add", "-A")
			w.git("commit", "-q", "-m", "first")
			if version != "2" && strings.Contains(c.file, "__") {
				must(t, errorsOf(os.WriteFile(w.root+"/.git/config", []byte("[core]\nrepositoryformatversion = 0\n[extensions]\nnone = none\n"), 0o644)))
			} else {
				w.git("update-index", "--index-version="+version)
			}
			c.spoil(w)
			if out, _ := w.plain("grep", "-h", "-e", secret); !strings.Contains(out, secret) {
				t.Errorf("%s, %s: plain git doesn't read what is outside, so this shows nothing: %q", name, version, out)
			}
			for _, in := range []string{"", c.file} {
				a, err := w.try(query.Grep{Pattern: secret, In: in})
				if err == nil && strings.Contains(w.everything(a), w.outside) || len(a.Matches) > 0 {
					t.Errorf("%s, %s: %+v", name, version, a)
				}
				if in == "" {
					refused(t, err, paddock.PathOutsideRoot)
				}
			}
		}
	}
}

// Git takes what is behind a link for a file that it tracks where that has the size and the time which its index
// says, and a diff shows it as what was there.
func TestLinksToWhatSeemsUnchanged(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "4"} {
		w := tracking(t)
		now, old := strings.Repeat("x", len(secret))+"\n", time.Unix(946684800, 0)
		w.write("dir/secret.txt", now)
		must(t, errorsOf(os.Chtimes(w.root+"/dir/secret.txt", old, old), os.Chtimes(w.outside+"/secret.txt", old, old)))
		set("core.trustctime", "false")(w)
		set("core.checkStat", "minimal")(w)
		w.git("add", "-A")
		w.git("commit", "-q", "-m", "second")
		w.git("update-index", "--index-version="+version)
		must(t, errorsOf(os.RemoveAll(w.root+"/dir"), os.Symlink("../outside", w.root+"/dir")))
		if out, _ := w.plain("diff"); !strings.Contains(out, secret) {
			t.Errorf("plain git shows nothing of what is outside, so this shows nothing: %q", out)
		}
		for _, q := range []query.Query{query.Diff{}, query.Diff{Base: "HEAD"}, query.Diff{Base: "HEAD~1"}, query.Diff{In: "dir"}} {
			_, err := w.try(q)
			refused(t, err, paddock.PathOutsideRoot)
		}
		if a := w.ask(query.Diff{In: "c"}); !a.OK {
			t.Errorf("%+v", a)
		}
		if a := w.ask(query.Status{}); !a.OK || strings.Contains(w.everything(a), secret) {
			t.Errorf("%+v", a)
		}
	}
}

// What small files say is read whole or refused: what follows could say anything.
func TestFilesThatGoOn(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("\n", 64<<10)
	w := tracking(t)
	w.write(".git/objects/info/alternates", far+w.outside+"\n")
	_, err := w.try(query.Log{})
	refused(t, err, paddock.RepositoryRefused)
	w.write(".git/objects/info/alternates", " \n") // a name as any other
	_, err = w.try(query.Log{})
	refused(t, err, paddock.RepositoryRefused)
	w.write(".git/objects/info/alternates", "\n")
	w.ask(query.Log{})

	for _, name := range []string{".git/HEAD", ".git/commondir", ".git/refs/heads/main"} {
		w := tracking(t)
		before, _ := os.ReadFile(filepath.Join(w.root, name))
		w.write(name, strings.TrimSpace(string(before)+".")+far+"x")
		if look, err := repository.At(w.root); err == nil && look.Head != "" {
			t.Errorf("%s: %+v", name, look)
		}
	}
	for _, more := range []string{"[extensions]\nobjectFormat = sha256\n", "[include]\npath = other\n", "[filter \"x\"]\nclean = false\n"} {
		w := tracking(t)
		w.write(".git/config", "[core]\nrepositoryformatversion = 1\n"+far[:len(far)-37]+more)
		look, err := repository.At(w.root)
		must(t, err)
		if dirs, told := look.Tracked(""); told {
			t.Errorf("%q: %q is taken", more, dirs)
		}
		if _, told := look.Drivers(); told {
			t.Errorf("%q: drivers are told", more)
		}
	}
}
