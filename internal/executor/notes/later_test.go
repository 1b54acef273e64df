//go:build linux

package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/told"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/links/later"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/supervise/account"
	"paddock/internal/testproc"
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
	must(t, testproc.Alone(dir.ReleaseLock))
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
	must(t, testproc.Alone(dir.ReleaseLock))
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
	must(t, testproc.Alone(dir.ReleaseLock))
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

// returns is a supervisor that comes back and finds its run called lost: STATE RUN
// STEP. It ends itself behind the step, as a crash would.
func returns() int {
	state, err := rundir.Open(os.Args[1])
	if err != nil {
		return 3
	}
	dir, err := state.Run(paddock.RunID(os.Args[2]))
	if err != nil {
		return 4
	}
	path := journal.Dir(os.Args[1])
	switch step := os.Args[3]; step {
	case "looked":
		err = links.Link(dir.Path(), links.Index{State: os.Args[1]}.Active(dir.ID()))
	case "kept", "told":
		a := paddock.Addendum{At: time.Now(), Source: paddock.FromSupervisor, Outcome: exitedWith(0)}
		if _, err = later.Add(context.Background(), dir, a); err == nil && step == "told" {
			var w *writer.Writer
			if w, err = writer.Open(path, writer.Options{Now: time.Now}); err == nil {
				err = w.AppendWhere(context.Background(), func() ([]journal.Entry, error) {
					return told.Missing(path, journal.Entry{Kind: journal.End, Run: dir.ID()}, []paddock.Addendum{a})
				})
			}
		}
	default:
		err = errors.Join(account.Later(context.Background(), path, dir, exitedWith(0), time.Now), state.Close())
		if err == nil {
			return 0
		}
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 5
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return 6
}

// Wherever a supervisor that came back is killed, whoever reconciles next tells what
// it left, once, however many do so at the same time; and nobody looks at the run any
// longer than that.
func TestSupervisorKilledBeforeItTold(t *testing.T) {
	t.Parallel()
	for step, wanted := range map[string]string{
		"looked": "policy start end", "kept": "policy start end addendum", "told": "policy start end addendum", "all": "policy start end addendum",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			dir := w.run(nil)
			must(t, testproc.Alone(dir.ReleaseLock))
			reconcile := func() {
				_, err := w.state.Reconcile(t.Context(), w.now)
				must(t, err)
			}
			reconcile()
			want(t, w.told(), "policy start end")
			cmd := testproc.Self(t, "returns", w.state.Path(), string(dir.ID()), step)
			var errs strings.Builder
			cmd.Stderr = &errs
			must(t, cmd.Start())
			if step == "all" { // others look while it tells
				reconcile()
			}
			if err := cmd.Wait(); (err == nil) != (step == "all") || errs.Len() > 0 {
				t.Fatalf("%v: %s", err, errs.String())
			}
			var both sync.WaitGroup
			for range 2 {
				other, err := rundir.Open(w.state.Path())
				must(t, err)
				notes, err := Open(t.Context(), other, w.now, func(err error) { t.Error(err) }, writer.Options{})
				must(t, err)
				both.Go(func() {
					if _, err := other.Reconcile(t.Context(), w.now); err != nil {
						t.Error(err)
					}
				})
				defer func() { must(t, errors.Join(notes.Close(), other.Close())) }()
			}
			both.Wait()
			reconcile()
			want(t, w.told(), wanted)
			if noted, err := dir.Noted(); !noted || err != nil {
				t.Errorf("noted is %v, %v", noted, err)
			}
			if left, err := os.ReadDir(filepath.Join(w.state.Path(), links.ActiveDir)); err != nil || len(left) > 0 {
				t.Errorf("somebody still looks at %v, %v", left, err)
			}
		})
	}
}

// That the end was told says nothing of an addendum that came behind; what an older
// version left, or a power cut, is believed, and anything else isn't.
func TestWhatIsNotedCountsAddenda(t *testing.T) {
	t.Parallel()
	w := open(t)
	dir := w.run(nil)
	must(t, testproc.Alone(dir.ReleaseLock))
	noted := func(text string, want bool) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir.Path(), "noted"), []byte(text), 0o600))
		if is, err := dir.Noted(); is != want || err != nil {
			t.Errorf("%.20q: noted is %v, %v", text, is, err)
		}
	}
	noted("0\n", true)
	_, err := dir.AddAddendum(paddock.Addendum{Outcome: exitedWith(0)})
	must(t, err)
	noted("0\n", false)
	must(t, dir.MarkNoted(1))
	noted("1\n", true)
	for _, text := range []string{"-1\n", "10\n", "x", "\x00", "1\n1\n", "\xff"} {
		noted(text, false)
	}
	noted("", true)
	must(t, os.WriteFile(filepath.Join(dir.Path(), "noted"), make([]byte, 1<<20), 0o600))
	if _, err := dir.Noted(); err == nil {
		t.Error("a long one is read")
	}
}
