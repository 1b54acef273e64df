//go:build linux

package intake

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/control/handover"
	"paddock/internal/egress/credential"
	"paddock/internal/spawn"
	"paddock/internal/supervise/intake/hiding"
	"paddock/internal/supervise/intake/room"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A made Intake is of a run that is nowhere but in a directory.
type made struct {
	*Intake
	t      *testing.T
	dir    string
	reason atomic.Pointer[paddock.Reason]
}

func newIntake(t *testing.T, most int64) *made {
	t.Helper()
	m := &made{t: t, dir: t.TempDir()}
	bank, err := artifact.Create(m.dir, artifact.Options{Cap: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	m.Intake = &Intake{
		Bank: bank, RunDir: m.dir, Cap: most, Kept: func() {}, Told: func() {},
		End: func(why paddock.Reason) { m.reason.CompareAndSwap(nil, &why) },
	}
	return m
}

// print has the pieces come by a pipe, and returns what became of them.
func (m *made) print(pieces ...[]byte) (sum paddock.StreamSummary) {
	m.t.Helper()
	ours, theirs, err := spawn.OutputPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer ours.Close()
	done := make(chan bool)
	go func() { done <- m.Take(paddock.Stdout, ours) }()
	for _, piece := range pieces {
		if _, err := theirs.Write(piece); err != nil {
			m.t.Error(err)
		}
	}
	theirs.Close()
	if <-done {
		m.t.Error("somebody is said to hold the pipe")
	}
	if sum, _, err = m.Bank.Seal(); err != nil {
		m.t.Fatal(err)
	}
	return sum
}

// kept is what is in the file; the digest must be its.
func (m *made) kept(sum paddock.StreamSummary) []byte {
	m.t.Helper()
	got, err := os.ReadFile(filepath.Join(m.dir, "stdout"))
	if err != nil || sum.Digest != paddock.DigestOf(sha256.Sum256(got)) || sum.Bytes != int64(len(got)) {
		m.t.Errorf("%+v of %d bytes, %v", sum, len(got), err)
	}
	return got
}

func random(sizes ...int) (pieces [][]byte) {
	rnd := rand.NewChaCha8([32]byte{1})
	for _, size := range sizes {
		b := make([]byte, size)
		_, _ = rnd.Read(b) // never fails
		pieces = append(pieces, b)
	}
	return pieces
}

// Every byte is kept, and none of them is read on the way.
func TestWhatNobodyLooksAtIsNotRead(t *testing.T) {
	t.Parallel()
	m := newIntake(t, 1<<30)
	pieces := random(1, 5, 4096, 70_000, 1, 3<<20, 128<<10, 7)
	want := bytes.Join(pieces, nil)
	if got := m.kept(m.print(pieces...)); !bytes.Equal(got, want) {
		t.Errorf("kept %d bytes, want %d", len(got), len(want))
	}
	if got := m.unread.Load(); got != int64(len(want)) {
		t.Errorf("%d of %d bytes were not read on the way", got, len(want))
	}
}

// At each limit the beginning is kept, to the byte, and the rest counted.
func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	const size, most = 3_000_000, 1_234_567
	free := func() *room.Room { return room.New(t.TempDir(), 0, time.Now, nil) }
	for name, c := range map[string]struct {
		cap   int64
		room  *room.Room
		drop  bool
		print int
		want  paddock.ReasonKind
	}{
		"exactly full is not over": {most, free(), false, most, ""},
		"one byte over":            {most, free(), false, most + 1, paddock.ReasonOutputLimit},
		"over":                     {most, free(), false, size, paddock.ReasonOutputLimit},
		"over, and dropped":        {most, free(), true, size, ""},
		"a quota":                  {1 << 30, free().Within(most, "a"), false, size, paddock.ReasonQuota},
		"a quota, exactly full":    {1 << 30, free().Within(most, "a"), false, most, ""},
	} {
		m := newIntake(t, c.cap)
		m.Room, m.Drop = c.room, c.drop
		pieces := random(1000, c.print-1000)
		sum := m.print(pieces...)
		if got := m.kept(sum); !bytes.Equal(got, bytes.Join(pieces, nil)[:min(most, c.print)]) || sum.Dropped != int64(max(0, c.print-most)) {
			t.Errorf("%s: kept %d, dropped %d of %d", name, len(got), sum.Dropped, c.print)
		}
		if why := m.reason.Load(); why == nil != (c.want == "") || why != nil && why.Kind != c.want {
			t.Errorf("%s: %+v, want %q", name, why, c.want)
		}
		if m.unread.Load() != int64(min(most, c.print)) {
			t.Errorf("%s: %d bytes were not read on the way", name, m.unread.Load())
		}
	}
}

// What secrets are looked for in is read.
func TestWhatIsLookedAtIsRead(t *testing.T) {
	t.Parallel()
	for _, redact := range []paddock.Redaction{paddock.RedactShown, paddock.RedactStored} {
		m := newIntake(t, 1<<20)
		known, err := credential.SealKnown(credential.Known{Hide: []string{"a-secret-of-somebody"}})
		if err != nil {
			t.Fatal(err)
		}
		if m.Hiding, err = hiding.Open(handover.Job{RunDir: m.dir, OutputCap: 1 << 20, Redact: redact}, known, nil); err != nil {
			t.Fatal(err)
		}
		defer m.Hiding.Close()
		got := m.kept(m.print([]byte("it is a-secret-"), []byte("of-somebody\n")))
		if hidden := !bytes.Contains(got, []byte("secret")); hidden != (redact == paddock.RedactStored) || len(got) != 27 {
			t.Errorf("%s: kept %q", redact, got)
		}
		if m.unread.Load() != 0 || m.Hiding.Masked(paddock.Stdout) != 20 {
			t.Errorf("%s: %d bytes were not looked at, %d are masked", redact, m.unread.Load(), m.Hiding.Masked(paddock.Stdout))
		}
	}
}

func TestOutputThatWasNotReadInTimeIsKept(t *testing.T) {
	t.Parallel()
	const size = 700_000 // in the pipe when the time is over
	for name, held := range map[string]bool{"closed": false, "held from outside": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newIntake(t, 1<<20)
			ours, theirs, err := spawn.OutputPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			defer theirs.Close()
			if _, err := theirs.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if !held {
				theirs.Close()
			}
			if err := ours.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			stays := m.Take(paddock.Stdout, ours)
			if got := m.Bank.Size(paddock.Stdout); got != size || stays != held {
				t.Errorf("kept %d of %d, held %v", got, size, stays)
			}
		})
	}
}
