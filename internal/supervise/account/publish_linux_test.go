package account

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exited(code int) paddock.Outcome {
	return paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}}
}

// directory is that of a run that has begun, and path where its journal is.
func directory(t *testing.T) (dir *rundir.Dir, path string) {
	t.Helper()
	state, err := rundir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, state.Close()) })
	id, err := paddock.NewRunID(time.Unix(1, 0), nil)
	must(t, err)
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo, Command: paddock.Command{Argv: []string{"true"}}}
	dir, err = state.Prepare(t.Context(), id, rundir.Intent{
		Request: req, CreatedAt: time.Unix(1, 0),
		Decision: paddock.Decision{Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{})},
	})
	must(t, err)
	t.Cleanup(func() { must(t, dir.ReleaseLock()) })
	return dir, filepath.Join(state.Path(), "journal")
}

func now() time.Time { return time.Unix(2, 0) }

// never is for who must not have to wait.
func never(time.Duration) <-chan time.Time { panic("it waits") }

func ends(t *testing.T, path string) (n int) {
	t.Helper()
	segments, err := journal.Segments(path)
	must(t, err)
	for _, s := range segments {
		must(t, journal.ScanSegment(s, func(l journal.Line) error {
			e, err := l.Entry()
			if e.Kind == journal.End {
				n++
			}
			return err
		}))
	}
	return n
}

func leftovers(t *testing.T, dir *rundir.Dir) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir.Path())
	must(t, err)
	for _, e := range all {
		if strings.HasPrefix(e.Name(), durable.TempPrefix) || e.Name() == "reserve" {
			names = append(names, e.Name())
		}
	}
	return names
}

// published publishes p, which says whether its outcome is the run's.
func published(t *testing.T, p *Pending, kept bool) {
	t.Helper()
	got, err := p.Publish(t.Context(), never)
	must(t, err)
	if got != kept {
		t.Errorf("kept: %v, want %v", got, kept)
	}
}

// A journal that was opened while the run went on has what others told meanwhile, and one
// that couldn't be opened then is opened when there is something to tell.
func TestJournalOpenedBefore(t *testing.T) {
	t.Parallel()
	dir, path := directory(t)
	early := Open(t.Context(), path, now)
	<-early.ready
	other, err := writer.Open(path, writer.Options{Now: now})
	must(t, err)
	must(t, errors.Join(other.Append(t.Context(), journal.AbandonedOf("r", errors.New("x"))), other.Close()))
	published(t, Prepare(t.Context(), path, early, dir, exited(3), now), true)
	if n := ends(t, path); n != 1 {
		t.Errorf("the journal has %d ends", n)
	}

	dir, path = directory(t)
	must(t, os.WriteFile(path, nil, 0o600))
	early = Open(t.Context(), path, now)
	<-early.ready
	must(t, os.Remove(path))
	published(t, Prepare(t.Context(), path, early, dir, exited(3), now), true)
	if n := ends(t, path); n != 1 {
		t.Errorf("the journal has %d ends", n)
	}
	if Open(t.Context(), "", now) != nil {
		t.Error("no journal was opened")
	}
}

// What is prepared isn't the run's, and nobody is told, until it is published.
func TestPreparedIsNotPublished(t *testing.T) {
	t.Parallel()
	dir, path := directory(t)
	p := Prepare(t.Context(), path, nil, dir, exited(3), now)
	if o, err := dir.Outcome(); o != nil || err != nil {
		t.Errorf("%v, %v", o, err)
	}
	if n := ends(t, path); n != 0 {
		t.Errorf("the journal has %d ends", n)
	}
	published(t, p, true)
	if o, err := dir.Outcome(); err != nil || o == nil || *o.Reason.ExitCode != 3 {
		t.Errorf("%v, %v", o, err)
	}
	if n, left := ends(t, path), leftovers(t, dir); n != 1 || left != nil {
		t.Errorf("the journal has %d ends, and the directory %q", n, left)
	}
}

// Who comes second changes nothing, though it was prepared first.
func TestPreparedComesSecond(t *testing.T) {
	t.Parallel()
	dir, path := directory(t)
	p := Prepare(t.Context(), path, nil, dir, exited(3), now)
	published(t, Prepare(t.Context(), path, nil, dir, exited(4), now), true)
	published(t, p, false)
	if o, err := dir.Outcome(); err != nil || o == nil || *o.Reason.ExitCode != 4 {
		t.Errorf("%v, %v", o, err)
	}
	if n, left := ends(t, path), leftovers(t, dir); n != 1 || left != nil {
		t.Errorf("the journal has %d ends, and the directory %q", n, left)
	}
}

// What couldn't be prepared is tried again, and what was taken away too.
func TestPublishTriesAgain(t *testing.T) {
	t.Parallel()
	dir, path := directory(t)
	p := Prepare(t.Context(), path, nil, dir, exited(3), now)
	for _, name := range leftovers(t, dir) {
		must(t, os.Remove(filepath.Join(dir.Path(), name)))
	}
	waits := 0
	kept, err := p.Publish(t.Context(), func(time.Duration) <-chan time.Time {
		waits++
		c := make(chan time.Time, 1)
		c <- now()
		return c
	})
	must(t, err)
	if o, err := dir.Outcome(); err != nil || o == nil || waits != 1 || !kept {
		t.Errorf("%v, %v, after %d waits; kept: %v", o, err, waits, kept)
	}
	if n := ends(t, path); n != 1 {
		t.Errorf("the journal has %d ends", n)
	}
	never := &Pending{dir: dir, outcome: paddock.Outcome{State: paddock.Running}, now: now, err: errors.New("no room")}
	tries := 0
	kept, err = never.Publish(t.Context(), func(time.Duration) <-chan time.Time {
		tries++
		c := make(chan time.Time, 1)
		c <- now()
		return c
	})
	if err == nil || tries != 9 || kept {
		t.Errorf("%v after %d waits", err, tries)
	}
}
