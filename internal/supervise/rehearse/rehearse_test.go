//go:build linux

package rehearse

import (
	"os"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Whoever rehearses leaves nothing, and stops when the job is there. Not parallel:
// it counts descriptors.
func TestARehearsalLeavesNothing(t *testing.T) {
	testproc.Leaks(t)
	asked := 0
	Run(func() bool { asked++; return false })
	if asked != len(parts) {
		t.Errorf("it was asked %d times whether the job is there, of %d parts", asked, len(parts))
	}
	asked = 0
	Run(func() bool { asked++; return true })
	if asked != 1 {
		t.Errorf("with the job there it asked %d times", asked)
	}
	if _, err := os.Lstat("/nonexistent/root"); err == nil {
		t.Error("what is planned for was made")
	}
}

// A part that ended early would rehearse nothing.
func TestEachPartComesToItsEnd(t *testing.T) {
	for i, part := range parts {
		if n := testing.AllocsPerRun(1, part); n < 10 {
			t.Errorf("part %d makes %v allocations: it stops at something", i, n)
		}
	}
}
