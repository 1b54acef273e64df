package hand

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/executor/stages"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A bench has a pool, and counts what is opened for jobs and closed.
type bench struct {
	*testing.T
	pool *stages.Pool
	open int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t}
	var err error
	b.pool, err = stages.NewPool(t.Context(), stages.Binary{Path: testproc.Build(t, "paddock/cmd/paddock-stage")}, t.TempDir(), 0, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.pool.Close()
		if b.open != 0 {
			t.Errorf("%d jobs weren't let go of", b.open)
		}
	})
	return b
}

func (b *bench) pools() (*stages.Pool, error) { return b.pool, nil }

func (b *bench) pack(paddock.Digest) (Job, string, error) {
	b.open++
	return Job{Text: []byte("{}"), Done: func() { b.open-- }}, "", nil
}

func (b *bench) lock() *os.File {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "lock"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

func word() ([]byte, []*os.File, string, error) { return []byte("{}"), nil, "", nil }

// What fails on the way is told when the word is due, with the step that failed.
func TestWhatFailsIsToldWithTheWord(t *testing.T) {
	t.Parallel()
	b, broken := newBench(t), errors.New("broken")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for step, h := range map[string]*Hand{
		"find the supervisor": Ready(t.Context(), func() (*stages.Pool, error) { return nil, broken }, false, b.pack),
		"pack":                Ready(t.Context(), b.pools, false, func(paddock.Digest) (Job, string, error) { return Job{}, "pack", broken }),
		"say":                 Ready(t.Context(), b.pools, false, b.pack),
		"hand over the run":   Ready(canceled, b.pools, false, b.pack),
	} {
		ctx, say := t.Context(), word
		switch step {
		case "say":
			say = func() ([]byte, []*os.File, string, error) { return nil, nil, "say", broken }
		case "hand over the run":
			ctx = canceled
		}
		h.Give(b.lock())
		if stage, got, err := h.Say(ctx, say); stage != nil || err == nil || got != step && !strings.Contains(err.Error(), "canceled") {
			t.Errorf("%s: %v, %s, %v", step, stage, got, err)
		}
		h.Drop(t.Context())
	}
	(*Hand)(nil).Drop(t.Context())
}

// A run that isn't to be has a supervisor no more, whether that had the job or not.
func TestDropEndsTheSupervisor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, given := range []bool{false, true} {
		h := Ready(t.Context(), b.pools, false, b.pack)
		if h.err != nil {
			t.Fatal(h.err)
		}
		stage := h.stage
		if given {
			h.Give(b.lock())
		}
		h.Drop(t.Context())
		<-stage.Reap()
		if h.Given() != given {
			t.Errorf("given is %v", h.Given())
		}
		if _, _, err := h.Say(t.Context(), word); err == nil {
			t.Error("the word was said after that")
		}
	}
}

// A supervisor that died before the word isn't taken for one that starts the run.
func TestADeadSupervisorIsFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := Ready(t.Context(), b.pools, false, b.pack)
	if h.err != nil {
		t.Fatal(h.err)
	}
	stage := h.stage
	if err := stage.Kill(); err != nil {
		t.Fatal(err)
	}
	<-stage.Reap()
	h.Give(b.lock())
	if got, step, err := h.Say(t.Context(), word); got != nil || err == nil || step != "hand over the run" {
		t.Errorf("%v, %q, %v", got, step, err)
	}
	if !h.Given() {
		t.Error("what it may have made isn't cleared away")
	}
}

// What a supervisor left that was ended before it undid it is taken away, and of one that
// did there is nothing to.
func TestWhatAKilledSupervisorLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, killed := range []bool{true, false} {
		left := 0
		h := Ready(t.Context(), b.pools, false, func(d paddock.Digest) (Job, string, error) {
			j, step, err := b.pack(d)
			j.Left = func() { left++ }
			return j, step, err
		})
		if h.err != nil {
			t.Fatal(h.err)
		}
		stage := h.stage
		h.given = true // as if it had its job
		if killed {
			if err := stage.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		h.Drop(t.Context())
		h.Drop(t.Context())
		if want := map[bool]int{true: 1}[killed]; left != want || stage.Ended() == killed {
			t.Errorf("killed is %v: told %d times, it ended by itself is %v", killed, left, stage.Ended())
		}
	}
}
