package resource

import (
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/lifecycle/resource/hierarchy"
)

// Probe finds what this process may use. It makes nothing, changes nothing and
// takes well under a millisecond; what it finds changes only when the process
// moves or somebody mounts.
func Probe() Host {
	h := Host{Hard: hardLimits()}
	h.V2, h.V1 = hierarchy.Find("memory", "pids", "cpu")
	return h
}

func hardLimits() map[int]uint64 {
	hard := map[int]uint64{}
	if os.Geteuid() == 0 {
		return hard // root may raise them
	}
	for _, resource := range []int{rlimitCPU, rlimitFsize, rlimitNproc, rlimitNofile, rlimitAS} {
		var r unix.Rlimit
		if err := unix.Getrlimit(resource, &r); err == nil && r.Max != unix.RLIM_INFINITY {
			hard[resource] = r.Max
		}
	}
	return hard
}
