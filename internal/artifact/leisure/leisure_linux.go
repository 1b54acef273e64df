// Package leisure has work done after everything else: what somebody waits for
// comes first, on any processor.
//
// # Limits
//
// It works on Linux, where priorities are those of threads; elsewhere nothing gives
// way. With all processors busy such work hardly gets on: who waits for it must do
// it himself. Nobody but root gets a priority back.
package leisure

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// lowest is the priority with which a thread gets, where another wants to run, a
// seventieth of the time.
const lowest = 19

// GiveWay has the rest of this goroutine run after everything else. Its thread ends
// with it.
//
// By its priority alone it would have a small share of a processor, and all of it as soon
// as it has begun with that: who wakes up waits for milliseconds, or is sent to
// a processor that somebody else needs. A processor whose only work is idle is free.
func GiveWay() {
	runtime.LockOSThread() // Go ends a thread whose goroutine ends without having let go of it
	// If that fails it is in somebody's way, and right all the same.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: lowest}, 0)
}
