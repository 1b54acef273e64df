//go:build linux

package intake

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// filled is a pipe with so many bytes in it that there is a pipe between.
func filled(t *testing.T, text []byte) (from *os.File, aside *between) {
	t.Helper()
	ours, theirs, err := spawn.OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	if _, err := theirs.Write(text); err != nil {
		t.Fatal(err)
	}
	aside = &between{}
	t.Cleanup(aside.close)
	if aside.crowd(crowded - 1); aside.in != nil {
		t.Error("a program that isn't faster than we are has a pipe more")
	}
	if aside.crowd(len(text)); aside.in == nil {
		t.Skip("this account has too many pipes for another")
	}
	return ours, aside
}

// What could go no further when it was moved aside comes back, whole and in order.
func TestWhatIsStuckComesBack(t *testing.T) {
	t.Parallel()
	text := random(700_000)[0]
	full := errors.New("full")
	for _, fits := range []int{0, 1, 4096, 300_001} {
		from, aside := filled(t, text)
		var got []byte
		p, err := aside.pass(from, len(text)-10, func(from *os.File, n int) (int, error) {
			if fits == len(got) {
				return 0, full
			}
			b := make([]byte, min(n, fits-len(got)))
			m, err := spawn.ReadReady(from, b)
			got = append(got, b[:m]...)
			return m, err
		})
		if !errors.Is(err, full) || p.kept != fits || p.lost != 0 || !bytes.Equal(append(got, p.stuck...), text[:len(text)-10]) {
			t.Errorf("%d fit: %d kept, %d stuck, %d lost, %v", fits, p.kept, len(p.stuck), p.lost, err)
		}
		if n := spawn.Buffered(from); n != 10 {
			t.Errorf("%d fit: %d bytes are left to the next, want 10", fits, n)
		}
	}
}

// When the pipe that was moved to is gone, what was in it is counted.
func TestWhatIsLostAsideIsCounted(t *testing.T) {
	t.Parallel()
	from, aside := filled(t, make([]byte, crowded))
	p, err := aside.pass(from, crowded, func(*os.File, int) (int, error) { return 0, errors.Join(aside.out.Close(), errors.New("full")) })
	if err == nil || p.kept != 0 || len(p.stuck) != 0 || p.lost != crowded {
		t.Errorf("%+v, %v", p, err)
	}
}

// A disk that fills up keeps what fits, by whichever way it came, and the rest is
// counted.
func TestAFullDiskKeepsTheBeginning(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		testproc.Skip(t, "a small file system can't be mounted: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	m := newIntake(t, 1<<30)
	bank, err := artifact.Create(dir, artifact.Options{Cap: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	m.Bank, m.dir = bank, dir
	pieces := random(1, 1<<20, 1<<20, 1<<20)
	want := bytes.Join(pieces, nil)
	ours, theirs, err := spawn.OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	done := make(chan bool)
	go func() { done <- m.Take(paddock.Stdout, ours) }()
	for _, piece := range pieces {
		if _, err := theirs.Write(piece); err != nil {
			t.Error(err)
		}
	}
	theirs.Close()
	<-done
	sum, _, err := bank.Seal()
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if got := m.kept(sum); len(got) < 1<<20 || !bytes.HasPrefix(want, got) || sum.Bytes+sum.Dropped != int64(len(want)) {
		t.Errorf("kept %d and dropped %d of %d", len(got), sum.Dropped, len(want))
	}
	if why := m.reason.Load(); why == nil || why.Kind != paddock.ReasonSink {
		t.Errorf("the run ends for %+v", why)
	}
}
