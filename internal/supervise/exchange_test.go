//go:build linux

package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control"
)

// told says the word, and returns the outcome.
func (r *readied) told() paddock.Outcome {
	r.t.Helper()
	r.say()
	return r.outcome()
}

func (r *readied) say() {
	r.t.Helper()
	if err := control.SendJob(r.stage.Conn(), []byte(`{"written":true}`), nil); err != nil {
		r.t.Fatal(err)
	}
}

// outcome waits for the run's end, and reads how it ended: one that can't start may be over
// before anybody could follow it.
func (r *readied) outcome() paddock.Outcome {
	r.t.Helper()
	err := r.stage.Wait()
	out, unread := r.dir.Outcome()
	if err := errors.Join(err, unread, r.dir.ReleaseLock()); err != nil || out == nil {
		r.t.Fatalf("%+v, %v", out, err)
	}
	return *out
}

// A hold is a level, and what a supervisor has made ready for a run at it before there is one.
type hold struct {
	level paddock.Level
	early string
}

func (h hold) String() string { return string(h.level) + ", early " + h.early }

var everyHold = []hold{
	{paddock.Full, ""}, {paddock.Full, "ahead"}, {paddock.Full, "ground"},
	{paddock.Standard, ""}, {paddock.Standard, "hedge"}, {paddock.Off, ""}, {paddock.Off, "between"},
}

// Whatever is put in the place of a run's workspace between the job and the word, the program
// runs in the directory that was judged or not at all, and nothing of the run stays in either.
func TestWhatIsExchangedBeforeTheWord(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(t *testing.T, root, aside, other string) error{
		"renamed": func(_ *testing.T, root, aside, other string) error {
			return errors.Join(os.Rename(root, aside), os.Rename(other, root))
		},
		"a link": func(_ *testing.T, root, aside, other string) error {
			return errors.Join(os.Rename(root, aside), os.Symlink(other, root))
		},
		"a link to itself": func(_ *testing.T, root, aside, _ string) error {
			return errors.Join(os.Rename(root, aside), os.Symlink(aside, root))
		},
		"removed": func(_ *testing.T, root, aside, _ string) error { return os.Rename(root, aside) },
		"a mount": func(t *testing.T, root, _, other string) error {
			t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) }) // below it nothing is to be seen
			return unix.Mount(other, root, "", unix.MS_BIND, "")
		},
		"nothing": func(*testing.T, string, string, string) error { return nil },
	} {
		for _, h := range everyHold {
			t.Run(name+", "+h.String(), func(t *testing.T) {
				t.Parallel()
				if name == "a mount" && os.Geteuid() != 0 {
					t.Skip("only root mounts; it is tried as root")
				}
				r := handed(t, h.level, h.early, newFixture(t, "echo ran >proof"))
				if h.level == paddock.Full { // elsewhere nothing tells when it is made ready
					r.until(func() bool { return len(r.workspace()) > 0 })
				}
				aside, other := filepath.Join(t.TempDir(), "aside"), filepath.Join(t.TempDir(), "other")
				if err := errors.Join(os.Mkdir(other, 0o777), os.Chmod(other, 0o777)); err != nil {
					t.Fatal(err)
				}
				judged, err := os.Open(r.job.Root)
				if err != nil {
					t.Fatal(err)
				}
				defer judged.Close()
				of, err := os.Open(other)
				if err != nil {
					t.Fatal(err)
				}
				defer of.Close()
				if err := exchange(t, r.job.Root, aside, other); err != nil {
					t.Fatal(err)
				}
				out := r.told()
				here, err1 := judged.Readdirnames(-1)
				there, err2 := of.Readdirnames(-1)
				if err := errors.Join(err1, err2); err != nil || len(there) > 0 {
					t.Errorf("in the other one: %q, %v", there, err)
				}
				switch {
				case out.State == paddock.Exited && *out.Reason.ExitCode == 0 && len(here) == 1 && here[0] == "proof":
				case out.State == paddock.FailedToStart && len(here) == 0 && name != "nothing":
				default:
					t.Errorf("%s %+v; in the one that was judged: %q", out.State, out.Reason, here)
				}
				t.Logf("%s: %s %s", out.State, out.Reason.Step, out.Reason.Detail)
			})
		}
	}
}
