package boot

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the machine's boot clock.
func Clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 1<<63 - 1 // no kernel that runs us lacks it; without a clock every lease is over
	}
	return time.Duration(t.Nano())
}
