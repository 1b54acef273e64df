//go:build linux

package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/testproc"
)

// tool makes a shell that is told from others by its last bytes.
func tool(t *testing.T, path, mark string) {
	t.Helper()
	shell, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(path, append(shell, mark...), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tooled has the run of a fixture execute path, which says what it is.
func tooled(t *testing.T, path string) *fixture {
	t.Helper()
	f := newFixture(t, "tail -c 4 /proc/$$/exe >proof")
	f.job.Path, f.job.Programs, f.files.Exec = path, []string{path}, opened(t, path)
	return f
}

// executed says the word, and returns what was executed: nothing if the start failed.
func (r *readied) executed() (string, paddock.Outcome) {
	r.t.Helper()
	out := r.told()
	b, err := os.ReadFile(r.proof)
	switch {
	case out.State == paddock.FailedToStart && errors.Is(err, os.ErrNotExist):
	case out.State == paddock.Exited && *out.Reason.ExitCode == 0 && err == nil:
	default:
		r.t.Errorf("%s %+v, and it said %q, %v", out.State, out.Reason, b, err)
	}
	return string(b), out
}

// Whatever is put in the place of a run's program between the job and the word, what was judged
// is executed, or nothing.
func TestWhatIsExecutedIsExchangedBeforeTheWord(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(t *testing.T, path, other string) error{
		"renamed": func(_ *testing.T, path, other string) error {
			return unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
		},
		"a link": func(_ *testing.T, path, other string) error {
			return errors.Join(os.Remove(path), os.Symlink(other, path))
		},
		"removed": func(_ *testing.T, path, _ string) error { return os.Remove(path) },
		"a mount": func(t *testing.T, path, other string) error {
			t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) }) // below it nothing is to be seen
			return unix.Mount(other, path, "", unix.MS_BIND, "")
		},
		"a mount over its directory": func(t *testing.T, path, other string) error {
			dir := filepath.Dir(path)
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			return unix.Mount(filepath.Dir(other), dir, "", unix.MS_BIND, "")
		},
		"nothing": func(*testing.T, string, string) error { return nil },
	} {
		for _, h := range everyHold {
			t.Run(name+", "+h.String(), func(t *testing.T) {
				t.Parallel()
				if os.Geteuid() != 0 && (name == "a mount" || name == "a mount over its directory") {
					t.Skip("only root mounts; it is tried as root")
				}
				base, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				path, other := filepath.Join(base, "bin/tool"), filepath.Join(base, "others/tool")
				if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.Mkdir(filepath.Dir(other), 0o755)); err != nil {
					t.Fatal(err)
				}
				tool(t, path, "good")
				tool(t, other, "evil")
				r := handed(t, h.level, h.early, tooled(t, path))
				if h.level == paddock.Full {
					r.until(func() bool { return len(r.workspace()) > 0 })
				}
				if err := exchange(t, path, other); err != nil {
					t.Fatal(err)
				}
				said, out := r.executed()
				if said != "good" && (said != "" || name == "nothing") {
					t.Errorf("it says %q; %s %+v", said, out.State, out.Reason)
				}
			})
		}
	}
}

// Who wants to write to a pinned executable between the job and the word, and so has the kernel
// break the lease, gets no run of other bytes: there is none. Nor is there a way round by a
// further name.
func TestWhatIsExecutedIsRewrittenBeforeTheWord(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"its path", "a hard link", "nobody"} {
		for _, h := range everyHold {
			t.Run(by+", "+h.String(), func(t *testing.T) {
				t.Parallel()
				base, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				path, link := filepath.Join(base, "tool"), filepath.Join(base, "link")
				tool(t, path, "good")
				if err := os.Link(path, link); err != nil {
					t.Fatal(err)
				}
				f := tooled(t, path)
				if f.job.Held = true; by == "its path" {
					link = path
				}
				if _, err := unix.FcntlInt(f.files.Exec.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
					testproc.Skip(t, "no lease is to be had: "+err.Error())
				}
				r := handed(t, h.level, h.early, f)
				if h.level == paddock.Full {
					r.until(func() bool { return len(r.workspace()) > 0 })
				}
				if by != "nobody" {
					if fd, err := unix.Open(link, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EWOULDBLOCK) {
						t.Fatalf("it could be opened for writing: %d, %v", fd, err)
					}
				}
				said, out := r.executed()
				switch {
				case by == "nobody" && said == "good":
				case by != "nobody" && said == "" && out.Reason.Step == "the pinned executable is being written to":
				default:
					t.Errorf("it says %q; %s %+v", said, out.State, out.Reason)
				}
			})
		}
	}
}

// A supervisor that somebody stops between the job and the word, and lets go on later, starts
// its run then; one that is ended instead starts none, though the word has come.
func TestStoppedBeforeTheWord(t *testing.T) {
	t.Parallel()
	for _, h := range everyHold {
		t.Run(h.String(), func(t *testing.T) {
			t.Parallel()
			for _, ended := range []bool{false, true} {
				r := handed(t, h.level, h.early, newFixture(t, "echo ran >proof"))
				if h.level == paddock.Full {
					r.until(func() bool { return len(r.workspace()) > 0 })
				}
				testproc.Stop(t, r.stage.PID())
				r.say()
				if ended {
					r.ends()
					continue
				}
				if err := unix.Kill(r.stage.PID(), unix.SIGCONT); err != nil {
					t.Fatal(err)
				}
				if out := r.outcome(); out.State != paddock.Exited || *out.Reason.ExitCode != 0 {
					t.Errorf("%s %+v", out.State, out.Reason)
				}
				if _, err := os.Lstat(r.proof); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// ends ends a supervisor that is stopped and has the word.
func (r *readied) ends() {
	r.t.Helper()
	if err := errors.Join(r.stage.Kill(), r.stage.Wait(), r.dir.ReleaseLock()); err != nil {
		r.t.Error(err)
	}
	if _, err := os.Lstat(r.proof); err == nil {
		r.t.Error("the program ran")
	}
	if lost, err := r.state.Reconcile(r.t.Context(), time.Now); err != nil || len(lost) != 1 {
		r.t.Errorf("%v was found lost, %v", lost, err)
	}
	if err := lifecycle.EndCgroup(string(r.job.RunID)); err != nil { // as package remains does
		r.t.Error(err)
	}
}
