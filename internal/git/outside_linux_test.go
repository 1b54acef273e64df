//go:build linux

package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
)

// By containment alone, with plain git in the place of ours, nothing outside of the root is
// told of, whatever a repository has git read, or whoever asks has it.
func TestContainmentHoldsPlainReads(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, level)
			other := w.other() // whose files and messages say the secret
			its := strings.TrimSpace(w.git("--git-dir="+other, "rev-parse", "main"))
			w.write(w.outside+"/a.txt", secret)
			w.write(w.outside+"/mailmap", secret+" <ada@example.org>\n")
			w.write(w.outside+"/config", "[x \""+secret+"\"]\n\ty = z\n")
			for name, c := range map[string]struct {
				ready func()
				words []string
			}{
				"mailmap":        {func() { set("mailmap.file", w.outside+"/mailmap")(w) }, []string{"log", "--format=%aN"}},
				"core.worktree":  {func() { set("core.worktree", w.outside)(w) }, []string{"diff"}},
				"ignoreRevsFile": {func() { set("blame.ignoreRevsFile", w.outside+"/secret.txt")(w) }, []string{"blame", "a.txt"}},
				"include":        {func() { set("include.path", w.outside+"/config")(w) }, []string{"config", "--list"}},
				"alternates":     {func() { w.write(".git/objects/info/alternates", other+"/objects\n") }, []string{"show", its}},
				"linked objects": {func() {
					must(t, errorsOf(os.RemoveAll(w.root+"/.git/objects"), os.Symlink(other+"/objects", w.root+"/.git/objects")))
				}, []string{"show", its}},
				"linked .git":      {func() { must(t, errorsOf(os.RemoveAll(w.root+"/.git"), os.Symlink(other, w.root+"/.git"))) }, []string{"log"}},
				"a file for .git":  {func() { must(t, os.RemoveAll(w.root+"/.git")); w.write(".git", "gitdir: "+other+"\n") }, []string{"log"}},
				"commondir":        {func() { w.write(".git/commondir", other+"\n") }, []string{"log"}},
				"two files":        {func() {}, []string{"diff", "/dev/null", w.outside + "/secret.txt"}},
				"no index":         {func() {}, []string{"-C", w.outside, "grep", "--no-index", "-e", "."}},
				"contents":         {func() {}, []string{"blame", "--contents", w.outside + "/secret.txt", "a.txt"}},
				"revisions":        {func() {}, []string{"blame", "--ignore-revs-file=" + w.outside + "/secret.txt", "a.txt"}},
				"another git-dir":  {func() {}, []string{"--git-dir=" + other, "log"}},
				"another place":    {func() {}, []string{"-C", w.outside + "/other", "log"}},
				"another worktree": {func() {}, []string{"--work-tree=" + w.outside, "diff"}},
			} {
				entries, err := filepath.Glob(w.root + "/*")
				must(t, err)
				for _, left := range append(entries, w.root+"/.git") {
					must(t, os.RemoveAll(left))
				}
				w.commit()
				c.ready()
				words := slices.Concat(w.plainGit()[1:], c.words)
				if out, _ := w.plain(words...); !strings.Contains(out, secret) {
					t.Errorf("%s: plain git tells nothing outside either, so this shows nothing: %s", name, out)
				}
				run, err := w.exec.Start(t.Context(), paddock.Request{
					Principal: alice, Door: paddock.DoorGo, Room: Name, Command: paddock.Command{Argv: slices.Concat(w.plainGit(), c.words), Dir: w.root},
				})
				must(t, err)
				run, err = w.exec.Wait(t.Context(), run.ID)
				must(t, err)
				if said := w.everything(Answer{Run: run.ID}); strings.Contains(said, secret) || run.State != paddock.Exited {
					t.Errorf("%s: it tells of what is outside (%s): %s", name, run.State, said)
				}
			}
		})
	}
}
