//go:build linux

package notes

import (
	"os"
	"path/filepath"
	"testing"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/supervise/account"
)

func pointer[T any](v T) *T { return &v }

func exitedWith(code int) paddock.Outcome {
	return paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: pointer(code)}}
}

// half leaves what a supervisor leaves that is ended between writing an outcome
// and putting it in place.
func half(t *testing.T, dir, name string, o paddock.Outcome) {
	t.Helper()
	b, err := durable.EncodeJSON(outcome.File{Version: durable.Version, Outcome: o}, false)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, durable.TempPrefix+name), b, 0o600))
}

// What a supervisor had written of the end, and hadn't put in place, is an
// addendum of the lost run and nothing else; the journal has it once.
func TestLeftoverOutcomeIsAnAddendum(t *testing.T) {
	t.Parallel()
	w := open(t)
	dir := w.run(nil)
	half(t, dir.Path(), "1", exitedWith(3))
	half(t, dir.Path(), "2", exitedWith(3)) // the same, as of one that tried again
	must(t, os.WriteFile(filepath.Join(dir.Path(), durable.TempPrefix+"torn"), []byte(`{"version":1,"outc`), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir.Path(), durable.TempPrefix+"link")))
	must(t, dir.ReleaseLock())
	for range 2 {
		_, err := w.state.Reconcile(t.Context(), w.now)
		must(t, err)
	}
	run, err := dir.Record(w.clock)
	must(t, err)
	if run.State != paddock.Lost || run.Outcome.State != paddock.Lost {
		t.Errorf("the run is %s, its outcome %s: evidence became a state", run.State, run.Outcome.State)
	}
	if len(run.Addenda) != 1 || run.Addenda[0].Source != paddock.FromLeftover || *run.Addenda[0].Outcome.Reason.ExitCode != 3 || !run.Addenda[0].At.Equal(w.clock) {
		t.Errorf("addenda: %+v", run.Addenda)
	}
	want(t, w.told(), "policy start end addendum")
	left, err := filepath.Glob(filepath.Join(dir.Path(), durable.TempPrefix+"*"))
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// The same after a crash of who judged it, at each place where that can be.
func TestLeftoverOutcomeOutlivesWhoFindsIt(t *testing.T) {
	t.Parallel()
	w := open(t)
	dir := w.run(nil)
	half(t, dir.Path(), "1", exitedWith(3))
	// Whoever judged it was ended right after the outcome.
	first, err := dir.PublishOutcome(paddock.Outcome{State: paddock.Lost, Reason: paddock.Reason{Kind: paddock.ReasonLost}})
	if !first || err != nil {
		t.Fatal(first, err)
	}
	must(t, dir.ReleaseLock())
	_, err = w.state.Reconcile(t.Context(), w.now)
	must(t, err)
	if later, err := dir.Addenda(); err != nil || len(later) != 1 {
		t.Errorf("addenda: %v, %v", later, err)
	}
	want(t, w.told(), "policy start end addendum")
	// … or after telling, before noting it.
	must(t, os.Remove(filepath.Join(dir.Path(), "noted")))
	must(t, w.ended(dir))
	want(t, w.told(), "policy start end addendum")
}

// A supervisor that comes back and finds its run called lost keeps what it knows
// beside that, and tells it; one that finds its own outcome doesn't.
func TestSupervisorThatComesBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	now := w.now
	dir := w.run(nil)
	must(t, dir.ReleaseLock())
	_, err := w.state.Reconcile(t.Context(), now)
	must(t, err)
	for range 2 {
		must(t, account.Later(t.Context(), w.Dir(), dir, exitedWith(0), now))
	}
	run, err := dir.Record(w.clock)
	must(t, err)
	if run.State != paddock.Lost || len(run.Addenda) != 1 || run.Addenda[0].Source != paddock.FromSupervisor {
		t.Errorf("the run is %s with %+v", run.State, run.Addenda)
	}
	want(t, w.told(), "policy start end addendum")

	own := exitedWith(7)
	dir = w.run(&own)
	must(t, account.Later(t.Context(), w.Dir(), dir, exitedWith(0), now))
	if later, err := dir.Addenda(); err != nil || len(later) != 0 {
		t.Errorf("addenda of a run that wasn't lost: %v, %v", later, err)
	}
}
