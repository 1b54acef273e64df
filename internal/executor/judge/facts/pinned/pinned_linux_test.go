package pinned

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(t testing.TB, text string) *os.File {
	t.Helper()
	p := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(p, []byte(text), 0o755))
	f, err := os.Open(p)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func digest(text string) paddock.Digest { return paddock.DigestOf(sha256.Sum256([]byte(text))) }

// later is a clock by which every file is old.
func later() time.Time { return time.Now().Add(time.Hour) }

func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestAnMtimeThatWasSetBackIsNotBelieved(t *testing.T) {
	t.Parallel()
	m, f := &Memory{Now: later}, file(t, "good bytes")
	got, err := m.Digest(t.Context(), f)
	if err != nil || got != digest("good bytes") {
		t.Fatal(got, err)
	}
	if again, err := m.Digest(canceled(t), f); err != nil || again != got {
		t.Errorf("the same file was read again: %s, %v", again, err)
	}
	before, err := f.Stat()
	must(t, err)
	must(t, os.WriteFile(f.Name(), []byte("evil bytes"), 0o755))
	must(t, os.Chtimes(f.Name(), before.ModTime(), before.ModTime()))
	after, err := f.Stat()
	must(t, err)
	if !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Fatal("the forgery isn't one")
	}
	if got, err := m.Digest(t.Context(), f); err != nil || got != digest("evil bytes") {
		t.Errorf("a forged mtime was believed: %s, %v", got, err)
	}
}

// What has just changed can change again within the same tick of the clock.
func TestWhatIsFreshIsNotRemembered(t *testing.T) {
	t.Parallel()
	m, f := &Memory{}, file(t, "bytes")
	_, err := m.Digest(t.Context(), f)
	must(t, err)
	if _, err := m.Digest(canceled(t), f); !errors.Is(err, context.Canceled) {
		t.Errorf("a fresh file's digest was remembered: %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	id, err := identity(file(t, ""))
	must(t, err)
	for i := range most + 10 {
		id.Ino = uint64(i)
		m.remember(id, digest(""), later())
	}
	if len(m.known) > most {
		t.Errorf("%d digests are remembered", len(m.known))
	}
}

func TestWhatIsHeldCannotBeOpenedForWriting(t *testing.T) {
	t.Parallel()
	f := file(t, "bytes")
	other := f.Name() + ".link"
	must(t, os.Link(f.Name(), other))
	must(t, Hold(f))
	for _, name := range []string{f.Name(), other} {
		if w, err := os.OpenFile(name, os.O_WRONLY|unix.O_NONBLOCK, 0); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s was opened for writing: %v, %v", name, w, err)
		}
	}
	// Whoever asks the lease is told that somebody waits.
	if state, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0); err != nil || state == unix.F_RDLCK {
		t.Errorf("the lease is as whole as before: %d, %v", state, err)
	}
	must(t, f.Close())
	w, err := os.OpenFile(other, os.O_WRONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	must(t, w.Close())
}

func TestWhatIsOpenForWritingCannotBeHeld(t *testing.T) {
	t.Parallel()
	f := file(t, "bytes")
	w, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
	must(t, err)
	defer w.Close()
	if err := Hold(f); err == nil || !strings.Contains(err.Error(), "open for writing") {
		t.Errorf("held: %v", err)
	}
}

func TestCopyIsSealedWithTheBytesThatWereHashed(t *testing.T) {
	t.Parallel()
	f := file(t, "#!/bin/sh\n")
	c, got, err := Copy(t.Context(), f)
	must(t, err)
	defer c.Close()
	must(t, os.WriteFile(f.Name(), []byte("#!/bin/evil\n"), 0o755))
	b, err := io.ReadAll(io.NewSectionReader(c, 0, 1000))
	if err != nil || digest(string(b)) != got || string(b) != "#!/bin/sh\n" {
		t.Errorf("the copy has %q, %v", b, err)
	}
	if _, err := c.WriteAt([]byte("x"), 0); err == nil {
		t.Error("it was written to")
	}
	if err := c.Truncate(0); err == nil {
		t.Error("it was cut")
	}
	if w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", c.Fd()), os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		t.Error("it was opened anew and emptied")
		w.Close()
	}
}

func TestWhatIsTooLargeIsNotCopied(t *testing.T) {
	f := file(t, "")
	must(t, os.Truncate(f.Name(), MostCopied+1))
	if c, _, err := Copy(t.Context(), f); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("%v, %v", c, err)
	}
}
