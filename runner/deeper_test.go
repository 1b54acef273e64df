//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// deeperStage is set in processes of other users that try the same.
const deeperStage = "PADDOCK_TEST_DEEPER_STAGE"

// What other tools would execute or obey is found wherever a run puts it, at every
// level, for root and for an ordinary user.
func TestDeeper(t *testing.T) {
	t.Parallel()
	if os.Getenv(deeperStage) != "" {
		for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
			t.Run(string(level), func(t *testing.T) { t.Parallel(); tryDeeper(t, level) })
		}
		return
	}
	for _, uid := range []int{os.Geteuid(), testproc.Nobody} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		t.Run("uid "+strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			base := hostBase(t, uid)
			cmd := testproc.Self(t, "-test.run=^TestDeeper$", "-test.timeout=4m")
			testproc.AsUser(t, cmd, uid)
			cmd.Dir = base
			cmd.Env = append(os.Environ(), "TMPDIR="+base, "HOME="+base, deeperStage+"="+testproc.Build(t, "paddock/cmd/paddock-stage"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func deeperWorld(t *testing.T, words string) *world {
	t.Helper()
	return newWorld(t, strings.Replace(permissive, "containment: {require: off}", "containment: "+words, 1))
}

// foundIn maps what was found to what became of it.
func foundIn(run Run) map[string]string {
	all := map[string]string{}
	if run.Outcome == nil || run.Outcome.Deeper == nil {
		return all
	}
	for _, f := range run.Outcome.Deeper.Found {
		all[f.Path] = string(f.Change)
		if f.Quarantined {
			all[f.Path] = "moved"
		}
	}
	return all
}

// vectors are lines of a shell, what they make, and what becomes of that.
var vectors = []struct{ line, path, want string }{
	{`echo x > sub/.mcp.json`, "sub/.mcp.json", "moved"},
	{`echo x > a/b/.envrc`, "a/b/.envrc", "moved"},
	{`mkdir sub/.claude; echo x > sub/.claude/settings.json`, "sub/.claude", "moved"},
	{`mkdir -p a/b/.vscode; echo x > a/b/.vscode/tasks.json`, "a/b/.vscode", "moved"},
	{`mkdir -p n/.git/hooks; echo x > n/.git/hooks/post-checkout`, "n/.git/hooks", "moved"},
	{`mkdir -p n/.git; echo x > n/.git/config`, "n/.git/config", "moved"},
	{`mkdir -p n/.git/info; echo x > n/.git/info/attributes`, "n/.git/info/attributes", "moved"},
	{`mkdir l; echo "gitdir: /elsewhere" > l/.git`, "l/.git", "moved"},
	{`ln -s /etc sub/.idea`, "sub/.idea", "moved"},
	{`echo x > o; mv o sub/.gitmodules`, "sub/.gitmodules", "moved"},
	{`mv plain a/.envrc`, "a/.envrc", "moved"},
	{`ln plain2 sub/.envrc`, "sub/.envrc", "moved"},
	{`mkdir -p c/.GIT; echo x > c/.GIT/Config`, "c/.GIT/Config", "moved"},
	{`mkdir -p d; echo x > d/.Mcp.JSON`, "d/.Mcp.JSON", "moved"},
	{`mkdir -p e/.vſcode; echo x > e/.vſcode/x`, "e/.vſcode", "moved"},
	{`mkfifo a/.mcp.json`, "a/.mcp.json", "moved"},
	{`mkdir hid; echo x > hid/.envrc; chmod 311 hid`, "hid/.envrc", "moved"},
	{`mkdir ro; echo x > ro/.envrc; chmod 555 ro`, "ro/.envrc", "moved"},
	{`echo x >> nested/.git/config`, "nested/.git/config", "changed"},
	{`echo x > nested/.git/hooks/post-merge`, "nested/.git/hooks/post-merge", "moved"},
	{`echo x > nested/.git/hooks/old; chmod +x nested/.git/hooks/old`, "nested/.git/hooks/old", "changed"},
	{`echo x > t; mv t nested/.envrc`, "nested/.envrc", "changed"},
}

func tryDeeper(t *testing.T, level paddock.Level) {
	w := deeperWorld(t, "{require: "+string(level)+"}")
	for _, dir := range []string{"sub", "a/b", "nested/.git/hooks", "outside"} {
		must(t, os.MkdirAll(filepath.Join(w.root, dir), 0o755))
	}
	for _, file := range []string{"plain", "plain2", "nested/.git/config", "nested/.git/hooks/old", "nested/.envrc", "nested/.mcp.json"} {
		must(t, os.WriteFile(filepath.Join(w.root, file), []byte("old\n"), 0o644))
	}
	var owner unix.Stat_t
	must(t, unix.Stat(w.root, &owner))
	must(t, filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(owner.Uid), int(owner.Gid)))
	}))
	var lines []string
	for _, v := range vectors {
		lines = append(lines, v.line)
	}
	run := w.held(strings.Join(append(lines, "touch sub/.envrc-not git", "exit 3"), "\n"))
	if run.State != Exited || *run.Outcome.Reason.ExitCode != 3 || run.Enforced.Deeper != paddock.QuarantineDeeper {
		t.Fatalf("%s %+v %+v\n%s", run.State, run.Outcome, run.Enforced, w.text(run, Stderr))
	}
	if d := run.Outcome.Deeper; d == nil || d.Unlooked != "" || d.More > 0 || d.Looked < 40 {
		t.Fatalf("%+v", d)
	}
	got := foundIn(run)
	for _, v := range vectors {
		if got[v.path] != v.want {
			t.Errorf("%s: %q, want %q", v.line, got[v.path], v.want)
		}
		if _, err := os.Lstat(filepath.Join(w.root, v.path)); (err == nil) != (v.want == "changed") {
			t.Errorf("%s: %v", v.path, err)
		}
		delete(got, v.path)
	}
	if len(got) > 0 {
		t.Errorf("beside these: %v", got)
	}
	if left, err := filepath.Glob(filepath.Join(w.root, "..", "state/runs/*/*/before.json")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	tryRestored(t, w, run, owner)
}

// tryRestored moves things back, which are then whose they were.
func tryRestored(t *testing.T, w *world, run Run, owner unix.Stat_t) {
	q, err := w.r.Quarantine(t.Context(), run.ID)
	must(t, err)
	if len(q.Items) < 15 || q.Root != w.root {
		t.Fatalf("%+v", q)
	}
	done, err := w.r.Restore(t.Context(), run.ID, []string{"a/b/.envrc", "sub/.claude"})
	if err != nil || len(done.Paths) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	var st unix.Stat_t
	for _, name := range done.Paths {
		must(t, unix.Stat(filepath.Join(w.root, name), &st))
		if st.Uid != owner.Uid && os.Geteuid() == 0 {
			t.Errorf("%s belongs to %d, want %d", name, st.Uid, owner.Uid)
		}
	}
	if b, err := os.ReadFile(w.root + "/sub/.claude/settings.json"); err != nil || string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
	_, err = w.r.Restore(t.Context(), run.ID, []string{"a/b/.envrc"})
	refused(t, err, paddock.Conflict)
	_, err = w.r.Restore(t.Context(), run.ID, []string{"/etc/passwd"})
	refused(t, err, paddock.InvalidRequest)
	_, err = w.r.Restore(t.Context(), run.ID, nil)
	refused(t, err, paddock.InvalidRequest)
	after, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	if !slices.ContainsFunc(after.Deeds, func(d paddock.Deed) bool { return d.Kind == paddock.DeedRestored && len(d.Paths) == 2 }) {
		t.Errorf("%+v", after.Deeds)
	}
	again := w.held(`echo y >> a/b/.envrc`) // what is there is only told from then on
	if got := foundIn(again); len(got) != 1 || got["a/b/.envrc"] != "changed" {
		t.Errorf("%v", got)
	}
	_, err = w.r.Quarantine(t.Context(), again.ID)
	refused(t, err, paddock.Conflict)
}

// The policy says what becomes of finds, and what nobody looks for.
func TestDeeperWords(t *testing.T) {
	t.Parallel()
	n := 0
	for words, want := range map[string]string{
		"{require: off, deeper: report}": "appeared", "{require: off, deeper: ignore}": "", "{require: off, deeper: quarantine}": "moved",
		"{write: [ROOT/lib], deeper: quarantine}": "moved", "{write: [ROOT/sub]}": "", "{write: [ROOT/sub/.envrc]}": "",
	} {
		n++
		t.Run(strconv.Itoa(n), func(t *testing.T) { // a directory is called by it
			t.Parallel()
			w := deeperWorld(t, words)
			must(t, errors.Join(os.Mkdir(w.root+"/sub", 0o755), os.Mkdir(w.root+"/lib", 0o755), os.WriteFile(w.root+"/sub/.envrc", nil, 0o644), os.Remove(w.root+"/sub/.envrc")))
			if strings.Contains(words, ".envrc") { // what isn't there can't be granted
				must(t, os.WriteFile(w.root+"/sub/.envrc", nil, 0o644))
			}
			run := w.held(`echo x > sub/.envrc`)
			if got := foundIn(run)["sub/.envrc"]; got != want {
				t.Errorf("%s: %q, want %q: %+v", words, got, want, run.Outcome.Deeper)
			}
			ignored := strings.Contains(words, "ignore")
			if (run.Outcome.Deeper == nil) != ignored || ignored != (run.Enforced.Deeper == paddock.IgnoreDeeper) {
				t.Errorf("%+v %+v", run.Enforced, run.Outcome.Deeper)
			}
		})
	}
}

// A run that lost its supervisor is looked after by who finds it.
func TestDeeperLost(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, "{require: off}")
	run := w.sh(`mkdir sub; echo x > sub/.envrc; echo up; exec sleep ` + unique(t))
	if _, err := w.r.Output(t.Context(), run.ID, PageRequest{Wait: paddock.Duration(paddock.MaxWait)}); err != nil {
		t.Fatal(err)
	}
	must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
	run = w.settle(run)
	if got := foundIn(run); run.State != Lost || got["sub/.envrc"] != "appeared" || !strings.Contains(run.Outcome.Deeper.Found[0].Why, "lost") {
		t.Errorf("%s %v %+v", run.State, got, run.Outcome.Deeper)
	}
	if left, err := filepath.Glob(w.state + "/runs/*/*/before.json"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// A repository that a run made works without what was moved out of it, and is what
// it was once that is back.
func TestDeeperRepository(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, "{require: off}")
	git := `git -c user.name=x -c user.email=x@y -c safe.directory="*" -C new `
	run := w.held(`git init -q new && cd new && echo x > f && cd .. && ` + git + `add f && ` + git + `commit -qm one && ` + git + `remote add origin https://example.org/x`)
	if got := foundIn(run); run.State != Exited || *run.Outcome.Reason.ExitCode != 0 || got["new/.git/config"] != "moved" || got["new/.git/hooks"] != "moved" || len(got) != 2 {
		t.Fatalf("%+v %v %s", run.Outcome, got, w.text(run, Stderr))
	}
	ask := func() string {
		again := w.held(git + `log --format=%s; ` + git + `remote`)
		return w.text(again, Stdout) + w.text(again, Stderr)
	}
	if got := ask(); got != "one\n" {
		t.Errorf("%q", got)
	}
	if _, err := w.r.Restore(t.Context(), run.ID, []string{"new/.git/config"}); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "one\norigin\n" {
		t.Errorf("%q", got)
	}
}
