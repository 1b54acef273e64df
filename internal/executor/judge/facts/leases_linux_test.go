package facts

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/executor/judge/facts/pinned"
	"paddock/internal/policy"
	"paddock/internal/testproc"
)

// A meddler is a context that tries to open a file for writing whenever it is asked whether it
// has ended, which a digest does as it goes.
type meddler struct {
	context.Context
	path string
	last *error
}

func (m meddler) Err() error {
	fd, err := unix.Open(m.path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	*m.last = err
	return m.Context.Err()
}

// What is pinned is kept from being written before the first byte of it is read, and whoever
// starts it is told to ask once more; what isn't pinned is anybody's to write.
func TestWhatIsPinnedIsHeldBeforeItIsRead(t *testing.T) {
	t.Parallel()
	try, err := os.Open(write(t, tempDir(t)+"/try", elf, 0o755))
	must(t, err)
	defer try.Close()
	if err := pinned.Hold(try); errors.Is(err, pinned.ErrNoLease) {
		testproc.Skip(t, err.Error())
	}
	for _, pinned := range []bool{true, false} {
		p := write(t, tempDir(t)+"/x", elf, 0o755)
		last := error(nil)
		found := New().Find(meddler{t.Context(), p, &last}, Query{Wanted: policy.Wanted{Executable: p, Pinned: pinned}})
		if errors.Is(last, unix.EWOULDBLOCK) != pinned || found.Launch == nil || found.Launch.Held != pinned {
			t.Errorf("pinned %t: opened for writing while it was read: %v; %+v", pinned, last, found.Launch)
		}
		found.Close()
	}
}

// Root alone can change what a name leads to, and still the file that was opened may be another.
func TestRootsAloneIsOfTheFile(t *testing.T) {
	t.Parallel()
	c := chain{Finder: New(), found: &Found{}}
	shell, err := os.Open("/bin/sh")
	must(t, err)
	defer shell.Close()
	other, err := os.Open(write(t, tempDir(t)+"/x", elf, 0o755))
	must(t, err)
	defer other.Close()
	if !c.rootsAlone(program{file: shell, path: "/bin/sh"}) {
		testproc.Skip(t, "others than root can change the shell here")
	}
	if c.rootsAlone(program{file: other, path: "/bin/sh"}) {
		t.Error("another file is taken for root's")
	}
}
