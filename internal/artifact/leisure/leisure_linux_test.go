package leisure

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// One goroutine gives way, and no other; its thread is nobody's afterwards.
func TestGiveWay(t *testing.T) {
	t.Parallel()
	nice := func() int {
		n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err != nil {
			t.Error(err)
		}
		return 20 - n // as the kernel says it
	}
	idle := func() bool {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
		}
		return attr.Policy == unix.SCHED_IDLE
	}
	before := nice()
	for range 20 {
		during, after := make(chan int), make(chan int)
		go func() {
			GiveWay()
			if !idle() {
				t.Error("who gave way isn't idle")
			}
			during <- nice()
		}()
		if got := <-during; got != lowest {
			t.Errorf("who gave way runs at %d", got)
		}
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if idle() {
				t.Error("somebody else is idle")
			}
			after <- nice()
		}()
		if got := <-after; got != before {
			t.Errorf("somebody else runs at %d, and at %d before", got, before)
		}
	}
}
