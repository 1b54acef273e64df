//go:build linux

package runner

import (
	"context"
	"encoding/json"
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

// keptStage is set in processes of other users that try the same.
const keptStage = "PADDOCK_TEST_KEPT_STAGE"

// What runs change is kept apart for root and for an ordinary user.
func TestKeptApart(t *testing.T) {
	t.Parallel()
	if os.Getenv(keptStage) != "" {
		for name, try := range map[string]func(*testing.T){
			"apply": tryApply, "refusals": tryRefusals, "odd root": tryOddRoot, "copy": tryCopy, "lost": tryLost, "inside": tryInside,
		} {
			t.Run(name, try)
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
			cmd := testproc.Self(t, "-test.run=^TestKeptApart$", "-test.timeout=3m")
			testproc.AsUser(t, cmd, uid)
			cmd.Dir = base
			cmd.Env = append(os.Environ(), "TMPDIR="+base, "HOME="+base, keptStage+"="+testproc.Build(t, "paddock/cmd/paddock-stage"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// keptWorld makes a world whose runs' changes are kept apart, with the root
// called name.
func keptWorld(t *testing.T, name string) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, root: filepath.Join(base, name), state: base + "/state", policy: base + "/policy.yaml", warnings: &warnings{}}
	quote := func(path string) string {
		quoted, err := json.Marshal(path)
		must(t, err)
		return string(quoted)
	}
	text := "version: 1\nroots: [{path: " + quote(w.root) + "}]\nexecutables: [{name: sh, path: /bin/sh, args: any}, {name: tool, path: " +
		quote(w.root+"/tool") + ", args: any}]\ncontainment: {workspace: overlay}\n"
	must(t, os.WriteFile(w.policy, []byte(text), 0o600))
	must(t, os.MkdirAll(w.root+"/dir", 0o755))
	must(t, os.WriteFile(w.root+"/file", []byte("old\n"), 0o644))
	must(t, os.WriteFile(w.root+"/dir/inner", []byte("old\n"), 0o644))
	w.r, err = Open(t.Context(), w.policy, Options{StateDir: w.state, Stage: os.Getenv(keptStage), Warn: w.warnings.add})
	must(t, err)
	t.Cleanup(func() { must(t, w.r.Close()) })
	return w
}

// kept runs a line to its end. When the test is over what is left of it must be
// there to be removed, whatever the program did to it.
func (w *world) kept(line string) Run {
	w.t.Helper()
	run := w.held(line)
	w.t.Cleanup(func() {
		if _, err := w.r.Discard(context.WithoutCancel(w.t.Context()), run.ID); err != nil {
			w.t.Errorf("discard: %v", err)
		}
		if left, err := filepath.Glob(w.state + "/runs/*/" + string(run.ID) + "/workspace"); len(left) > 0 || err != nil {
			w.t.Errorf("left: %v %v", left, err)
		}
	})
	return run
}

func (w *world) diff(run Run, paths ...string) map[string]FileChange {
	w.t.Helper()
	all, err := w.r.Diff(w.t.Context(), run.ID, Choice{Paths: paths, Hunks: true})
	must(w.t, err)
	out := map[string]FileChange{}
	for _, f := range all.Files {
		out[f.Path] = f
	}
	return out
}

func (w *world) file(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		return "none"
	}
	return string(b)
}

const changing = `echo new >> file; rm -r dir; mkdir dir; echo anew > dir/other; printf x > tool; chmod 755 tool; ln -s file link; cat file`

func tryApply(t *testing.T) {
	w := keptWorld(t, "root")
	run := w.kept(changing)
	if run.Enforced == nil || run.Enforced.Workspace != "overlay" || w.text(run, Stdout) != "old\nnew\n" {
		t.Fatalf("%+v %q %q", run.Enforced, w.text(run, Stdout), w.text(run, Stderr))
	}
	if w.file("file") != "old\n" || w.file("dir/inner") != "old\n" || w.file("tool") != "none" {
		t.Error("the run wrote to its root")
	}
	got := w.diff(run)
	for path, want := range map[string]string{"file": "modified", "dir/inner": "deleted", "dir/other": "added", "tool": "added", "link": "added"} {
		if got[path].Change != want {
			t.Errorf("%s: %+v", path, got[path])
		}
	}
	if len(got) != 5 || got["file"].Hunks != "@@ -1,1 +1,2 @@\n old\n+new\n" || got["tool"].NewMode != "0755" || got["link"].NewTarget != "file" {
		t.Errorf("%+v", got)
	}
	done, err := w.r.Apply(t.Context(), run.ID, Choice{Paths: []string{"dir"}})
	if err != nil || !slices.Equal(done.Paths, []string{"dir/inner", "dir/other"}) {
		t.Errorf("%+v %v", done, err)
	}
	// What is there already may be named again.
	if _, err := w.r.Apply(t.Context(), run.ID, Choice{Paths: []string{"dir", "link"}}); err != nil {
		t.Error(err)
	}
	if _, err := w.r.Apply(t.Context(), run.ID, Choice{}); err != nil {
		t.Error(err)
	}
	if w.file("file") != "old\nnew\n" || w.file("dir/inner") != "none" || w.file("dir/other") != "anew\n" || w.file("link") != "old\nnew\n" {
		t.Error("not all was applied")
	}
	if info, err := os.Stat(w.root + "/tool"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	if got := w.diff(run); len(got) != 0 {
		t.Errorf("after all was applied: %+v", got)
	}
	run, err = w.r.Status(t.Context(), run.ID)
	if err != nil || len(run.Deeds) != 6 || run.Deeds[5].Kind != paddock.DeedApplied || run.Deeds[1].By == "" {
		t.Errorf("%+v %v", run.Deeds, err)
	}
	entries, err := os.ReadDir(w.root)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v %v", entries, err)
	}
}

func tryRefusals(t *testing.T) {
	w := keptWorld(t, "root")
	// Protected names may be written: nobody outside sees it, and apply refuses.
	run := w.kept(`mkdir -p .git/hooks sub/.claude && echo x > .git/hooks/pre-commit && echo x > sub/.claude/settings.json && echo x > fine && echo run > file && mkdir shut && chmod 0 shut`)
	if e := run.Outcome.Reason.ExitCode; e == nil || *e != 0 || len(run.Enforced.Protected) != 0 {
		t.Fatalf("%+v %+v %s", run.Outcome, run.Enforced, w.text(run, Stderr))
	}
	_, err := w.r.Apply(t.Context(), run.ID, Choice{})
	refused(t, err, paddock.ChangeRefused)
	_, err = w.r.Apply(t.Context(), run.ID, Choice{Paths: []string{"fine", "sub/.claude"}})
	refused(t, err, paddock.ChangeRefused)
	if w.file("fine") != "none" {
		t.Error("some of it was applied")
	}
	for _, path := range []string{"nothing", "../root", "/etc", ""} {
		_, err = w.r.Apply(t.Context(), run.ID, Choice{Paths: []string{path}})
		refused(t, err, paddock.InvalidRequest)
	}
	must(t, os.WriteFile(w.root+"/file", []byte("other\n"), 0o644))
	w2 := w.kept(`echo second > file`)
	must(t, os.WriteFile(w.root+"/file", []byte("third\n"), 0o644))
	_, err = w.r.Apply(t.Context(), w2.ID, Choice{})
	refused(t, err, paddock.WorkspaceChanged)
	if f := w.diff(w2)["file"]; f.Unshown == "" {
		t.Errorf("%+v", f)
	}
	if _, err := w.r.Apply(t.Context(), w2.ID, Choice{Paths: []string{"file"}}); err != nil || w.file("file") != "second\n" {
		t.Errorf("%v %q", err, w.file("file"))
	}
	going := w.sh(`exec sleep ` + unique(t))
	for _, try := range []func() error{
		func() error { _, err := w.r.Diff(t.Context(), going.ID, Choice{}); return err },
		func() error { _, err := w.r.Apply(t.Context(), going.ID, Choice{}); return err },
		func() error { _, err := w.r.Discard(t.Context(), going.ID); return err },
	} {
		if r := refused(t, try(), paddock.Conflict); !r.Retryable {
			t.Errorf("%+v", r)
		}
	}
	_, err = w.r.Kill(t.Context(), going.ID, KILL, "")
	must(t, err)
	w.settle(going)
	if _, err := w.r.Discard(t.Context(), going.ID); err != nil {
		t.Error(err)
	}
	_, err = w.r.Diff(t.Context(), going.ID, Choice{})
	if r := refused(t, err, paddock.Conflict); !strings.Contains(r.Message, "discarded") {
		t.Errorf("%+v", r)
	}
}

// What mount options take for signs of their own is a name like any other.
func tryOddRoot(t *testing.T) {
	w := keptWorld(t, `odd:root,with\signs and spaces`)
	run := w.kept(changing)
	if run.Enforced == nil || run.Enforced.Workspace != "overlay" || len(w.diff(run)) != 5 {
		t.Errorf("%+v %+v", run.Enforced, run.Outcome)
	}
}

// A program in the root is executed through the view, and is the one that was
// judged.
func tryInside(t *testing.T) {
	w := keptWorld(t, "root")
	text, err := os.ReadFile("/bin/true")
	must(t, err)
	must(t, os.WriteFile(w.root+"/tool", text, 0o755))
	run, err := w.r.Start(t.Context(), Command{Argv: []string{"tool"}})
	must(t, err)
	run = w.settle(run)
	if code := run.Outcome.Reason.ExitCode; code == nil || *code != 0 {
		t.Errorf("%+v", run.Outcome)
	}
	_, err = w.r.Discard(t.Context(), run.ID)
	must(t, err)
}

// Where no layer can be laid over the root a copy stands in for it, and the
// record says why.
func tryCopy(t *testing.T) {
	w := keptWorld(t, "root")
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user can't make files of other groups here; it is tried as root")
	}
	must(t, os.Chown(w.root+"/dir/inner", -1, 4242))
	must(t, unix.Mkfifo(w.root+"/pipe", 0o600))
	text, err := os.ReadFile("/bin/true")
	must(t, err)
	must(t, os.WriteFile(w.root+"/tool", text, 0o755))
	run := w.kept(`./tool && echo new >> file; echo changed >> dir/inner; rm tool; ls`)
	e := run.Enforced
	if e == nil || e.Workspace != "copy" || !strings.Contains(e.WorkspaceWhy, "4242") || !strings.Contains(e.WorkspaceWhy, "1 special") {
		t.Fatalf("%+v %+v", e, run.Outcome)
	}
	if got := w.text(run, Stdout); got != "dir\nfile\n" {
		t.Errorf("%q", got)
	}
	if w.file("file") != "old\n" {
		t.Error("the run wrote to its root")
	}
	if got := w.diff(run); len(got) != 3 || got["pipe"].Change != "" {
		t.Errorf("%+v", got)
	}
	if _, err := w.r.Apply(t.Context(), run.ID, Choice{}); err != nil || w.file("file") != "old\nnew\n" || w.file("tool") != "none" {
		t.Errorf("%v %q", err, w.file("file"))
	}
	var st unix.Stat_t
	must(t, unix.Stat(w.root+"/dir/inner", &st))
	if st.Gid != 4242 {
		t.Errorf("the file's group is %d now", st.Gid)
	}
}

// What a run changed is there when its supervisor was killed.
func tryLost(t *testing.T) {
	w := keptWorld(t, "root")
	run := w.sh(`echo new > file; echo up; exec sleep ` + unique(t))
	if _, err := w.r.Output(t.Context(), run.ID, PageRequest{Wait: paddock.Duration(paddock.MaxWait)}); err != nil {
		t.Fatal(err)
	}
	must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
	run = w.settle(run)
	if run.State != Lost || w.file("file") != "old\n" || w.diff(run)["file"].Change != "modified" {
		t.Errorf("%s %+v", run.State, w.diff(run))
	}
	if _, err := w.r.Discard(t.Context(), run.ID); err != nil {
		t.Error(err)
	}
}

// Runs that write to the root have nothing that was kept apart.
func TestNothingKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("true")
	_, errDiff := w.r.Diff(t.Context(), run.ID, Choice{})
	_, errApply := w.r.Apply(t.Context(), run.ID, Choice{})
	_, errDiscard := w.r.Discard(t.Context(), run.ID)
	for _, err := range []error{errDiff, errApply, errDiscard} {
		if r := refused(t, err, paddock.Conflict); r.Retryable || !strings.Contains(r.Hint, "workspace: overlay") {
			t.Errorf("%+v", r)
		}
	}
	if _, err := w.r.Diff(t.Context(), "r0000000000000000000000000a", Choice{}); !errors.As(err, new(*Refusal)) {
		t.Error(err)
	}
}
