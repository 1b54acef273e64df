//go:build linux

package supervise

import (
	"os"
	"slices"
	"testing"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// TestProcessesOfARun pins how many processes a run takes beside its supervisor and
// the program: the one in between and, where root shows the workspace as another
// account's, one whose user namespace that takes. docs/benchmarks.md says what each
// costs. Not parallel: it counts.
func TestProcessesOfARun(t *testing.T) {
	if host := contain.Probe(); !slices.Contains(host.Levels(), paddock.Full) { // then the first means to hold a tree may fail, too
		testproc.Skip(t, host.Unavailable()[paddock.Full])
	}
	for _, level := range []paddock.Level{paddock.Off, paddock.Full} {
		t.Run(string(level), func(t *testing.T) {
			f := newFixture(t, "exit 0")
			want := 1
			if f.job.Contain.Level = level; level == paddock.Full {
				f.job.Contain.Network = "none"
				if err := os.Chmod(f.job.Root, 0o755); err != nil {
					t.Fatal(err)
				}
				if os.Geteuid() == 0 {
					want++
				}
			}
			before := spawn.Forks()
			out := f.run()
			checkOutcome(t, out, paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(0)})
			if got := spawn.Forks() - before; got != want {
				t.Errorf("the supervisor forked %d times, want %d: each costs a run at %s some hundred microseconds", got, want, level)
			}
		})
	}
}
