//go:build linux

package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/control"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// A job that two supervisors have, and the word too, is one run: its program runs once, and
// the outcome is of what ran. The second one touches nothing.
func TestTwoSupervisorsOfOneJob(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Off, paddock.Full} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "echo ran >>proof; echo up; read x <gate; exit 7")
			if f.job.Contain.Level = level; level == paddock.Full {
				if err := contain.Probe().Can(paddock.Full); err != nil {
					testproc.Skip(t, err.Error())
				}
				f.job.Contain.Network = "none"
			}
			f.job.Limits.Processes = 50
			gate, stage := filepath.Join(f.job.Root, "gate"), testproc.Build(t, "paddock/cmd/paddock-stage")
			if err := errors.Join(os.Chmod(f.job.Root, 0o777), unix.Mkfifo(gate, 0o666), os.Chmod(gate, 0o666)); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(f.job)
			if err != nil {
				t.Fatal(err)
			}
			start := func() *spawn.Stage {
				s, err := spawn.StartStage(stage, nil, "")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Conn().Close() })
				if err := control.SendJob(s.Conn(), text, []*os.File{f.files.Lock, f.files.Dir, f.files.Exec}); err != nil {
					t.Fatal(err)
				}
				if err := control.SendJob(s.Conn(), []byte(`{"written":true}`), nil); err != nil {
					t.Fatal(err)
				}
				return s
			}
			one := start()
			r := &readied{fixture: f}
			r.until(func() bool {
				b, err := os.ReadFile(filepath.Join(f.job.RunDir, "stdout"))
				return err == nil && string(b) == "up\n"
			})
			second := func() {
				two := start()
				if err := two.Wait(); err != nil {
					t.Error(err)
				}
				if two.Ended() {
					t.Error("the second one found nothing wrong")
				}
			}
			second()
			if out, err := f.dir.Outcome(); out != nil || err != nil {
				t.Errorf("the run goes on, and its outcome is %+v, %v", out, err)
			}
			var in *os.File
			r.until(func() bool { // it prints before it waits there
				in, err = os.OpenFile(gate, os.O_WRONLY|unix.O_NONBLOCK, 0)
				return !errors.Is(err, unix.ENXIO)
			})
			if err == nil {
				_, err = in.WriteString("x\n")
				err = errors.Join(err, in.Close())
			}
			if err := errors.Join(err, one.Wait()); err != nil {
				t.Error(err)
			}
			second() // after its end
			if err := f.dir.ReleaseLock(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Join(f.job.RunDir, "reserve")); err == nil {
				t.Error("the second one has left its reserve")
			}
			if out, err := f.dir.Outcome(); err != nil || out == nil || out.State != paddock.Exited || *out.Reason.ExitCode != 7 {
				t.Errorf("%+v, %v", out, err)
			}
			if b, err := os.ReadFile(filepath.Join(f.job.Root, "proof")); err != nil || string(b) != "ran\n" {
				t.Errorf("it ran as %q, %v", b, err)
			}
		})
	}
}
