package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/httpapi/meter"
)

// system adds what the kernel knows of us.
func system(r *meter.Registry) {
	r.Total("process_cpu_seconds_total", "Processor time that was used.", func() float64 {
		var u unix.Rusage
		if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	})
	r.Gauge("process_resident_memory_bytes", "Memory that is resident.", func() float64 {
		text, err := os.ReadFile("/proc/self/statm")
		words := bytes.Fields(text)
		if err != nil || len(words) < 2 {
			return 0
		}
		pages, _ := strconv.ParseFloat(string(words[1]), 64) // 0 when it is none
		return pages * float64(os.Getpagesize())
	})
	r.Gauge("process_open_fds", "Descriptors that are open.", func() float64 {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
		}
		return float64(len(entries) - 1) // but the one that was read
	})
	r.Gauge("process_max_fds", "Descriptors that may be open.", func() float64 {
		var l unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
			return 0
		}
		return float64(l.Cur)
	})
}
