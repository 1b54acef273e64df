//go:build linux

package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/control"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// A readied run has a supervisor which has the job and not the word.
type readied struct {
	*fixture
	stage *spawn.Stage
	proof string // the file that its program makes
}

// ready hands a job over, and returns when what holds its run is made ready.
func ready(t *testing.T, early string) *readied {
	t.Helper()
	r := handed(t, paddock.Full, early, newFixture(t, "echo ran >proof"))
	r.until(func() bool { return len(r.workspace()) > 0 })
	return r
}

// handed hands the job of f over, to be held at level.
func handed(t *testing.T, level paddock.Level, early string, f *fixture) *readied {
	t.Helper()
	if err := contain.Probe().Can(level); err != nil {
		testproc.Skip(t, err.Error())
	}
	r := &readied{fixture: f, proof: filepath.Join(f.job.Root, "proof")}
	f.job.Contain = paddock.ContainAs{Level: level, Network: "none"}
	if level == paddock.Off {
		f.job.Contain.Network = "host"
	}
	if err := os.Chmod(f.job.Root, 0o777); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.stage, err = spawn.StartStage(testproc.Build(t, "paddock/cmd/paddock-stage"), nil, early); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stage.Conn().Close() })
	text, err := json.Marshal(f.job)
	if err != nil {
		t.Fatal(err)
	}
	if err := control.SendJob(r.stage.Conn(), text, []*os.File{f.files.Lock, f.files.Dir, f.files.Exec}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *readied) until(ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-r.t.Context().Done():
			r.t.Fatal("waited in vain")
		}
	}
}

// workspace is what is in the run's root.
func (r *readied) workspace() []string {
	r.t.Helper()
	entries, err := os.ReadDir(r.job.Root)
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// untouched reports an error if anything of the run is anywhere.
func (r *readied) untouched() {
	r.t.Helper()
	if left := r.workspace(); len(left) > 0 {
		r.t.Errorf("left in the workspace: %q", left)
	}
	if groups, err := lifecycle.Groups(); err != nil || slices.Contains(groups, string(r.job.RunID)) {
		r.t.Errorf("cgroups are left: %v", err)
	}
	for _, name := range []string{"started.json", "outcome.json", "stdout", "control", "before.json"} {
		if _, err := os.Lstat(filepath.Join(r.job.RunDir, name)); err == nil {
			r.t.Errorf("%s is in the directory of a run that nobody said is written down", name)
		}
	}
}

// A run whose word never comes, since its caller is gone, never starts, and nothing is
// left of what was made ready: not where much was forked ahead, and not elsewhere.
func TestWithoutTheWordAllIsUndone(t *testing.T) {
	t.Parallel()
	for _, early := range []string{"", "ahead", "ground"} {
		t.Run("early "+early, func(t *testing.T) {
			t.Parallel()
			r := ready(t, early)
			if err := r.dir.ReleaseLock(); err != nil {
				t.Fatal(err)
			}
			// Its supervisor has the lock, so nobody finds the run lost meanwhile.
			if lost, err := r.state.Reconcile(t.Context(), time.Now); err != nil || len(lost) > 0 {
				t.Errorf("%v was found lost, %v", lost, err)
			}
			if err := r.stage.Conn().Close(); err != nil {
				t.Fatal(err)
			}
			if err := r.stage.Wait(); err != nil {
				t.Error(err)
			}
			r.untouched()
			if lost, err := r.state.Reconcile(t.Context(), time.Now); err != nil || len(lost) != 1 {
				t.Errorf("%v was found lost, %v", lost, err)
			}
		})
	}
}

// The same where the word makes no sense, or has not what it says.
func TestAWordThatIsNoneStartsNothing(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{
		"not written": `{"written":false}`, "nothing": ``, "null": `null`, "no JSON": "written\x00", "another type": `{"written":"yes"}`,
		"no stdin": `{"written":true,"has_stdin":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ready(t, "")
			if err := control.SendJob(r.stage.Conn(), []byte(word), nil); err != nil {
				t.Fatal(err)
			}
			if err := r.stage.Wait(); err != nil {
				t.Error(err)
			}
			r.untouched()
			if err := r.dir.ReleaseLock(); err != nil {
				t.Error(err)
			}
		})
	}
}

// With the word the program runs, and with what the word says.
func TestTheWordStartsTheRun(t *testing.T) {
	t.Parallel()
	r := ready(t, "ground")
	if _, err := os.Lstat(r.proof); err == nil {
		t.Error("the program ran before the word")
	}
	if out := r.told(); out.State != paddock.Exited || *out.Reason.ExitCode != 0 {
		t.Fatalf("%+v", out)
	}
	if b, err := os.ReadFile(r.proof); err != nil || string(b) != "ran\n" {
		t.Errorf("%q, %v", b, err)
	}
	if err := r.dir.ReleaseLock(); err != nil {
		t.Error(err)
	}
}

// A supervisor that is killed before the word takes nothing along that whoever settles
// its run can't clear away.
func TestKilledBeforeTheWord(t *testing.T) {
	t.Parallel()
	r := ready(t, "ground")
	if err := r.stage.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.stage.Wait(); err != nil {
		t.Error(err)
	}
	if err := control.SendJob(r.stage.Conn(), []byte(`{"written":true}`), nil); err == nil {
		t.Error("the word was said to nobody")
	}
	if err := r.dir.ReleaseLock(); err != nil {
		t.Error(err)
	}
	if err := testproc.Unlocked(filepath.Join(r.dir.Path(), "lock")); err != nil { // what it had forked ends after it
		t.Error(err)
	}
	if lost, err := r.state.Reconcile(t.Context(), time.Now); err != nil || len(lost) != 1 {
		t.Errorf("%v was found lost, %v", lost, err)
	}
	if _, err := os.Lstat(r.proof); err == nil {
		t.Error("the program ran")
	}
	if err := lifecycle.EndCgroup(string(r.job.RunID)); err != nil { // as package remains does
		t.Error(err)
	}
}
