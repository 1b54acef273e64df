package allowance

import (
	"fmt"
	"slices"
	"strings"

	"paddock"
)

// Held returns what is left of l where only the limits called held can be
// enforced: a default that can't be is left out. What the policy says and can't
// be is refused, with why, or it would promise what isn't kept.
func Held(l paddock.Limits, held []string, why string) (left paddock.Limits, refusals []*paddock.Refusal) {
	missing := func(name, value string, byDefault bool) bool {
		if slices.Contains(held, name) {
			return false
		}
		if !byDefault {
			r := paddock.Refused(paddock.ContainmentUnavailable, "The policy limits %s to %s, which can't be enforced here%s.", name, value, strings.TrimSuffix(": "+why, ": "))
			r.Hint = "The operator runs Paddock as root or where a cgroup is delegated (systemd-run --user --scope -p Delegate=yes …), or leaves `limits." + name + "` out."
			refusals = append(refusals, r)
		}
		return true
	}
	if l.Memory > 0 && missing("memory", fmt.Sprintf("%d bytes", l.Memory), l.MemoryByDefault) {
		l.Memory, l.MemoryByDefault = 0, false
	}
	if l.Processes > 0 && missing("processes", fmt.Sprint(l.Processes), l.ProcessesByDefault) {
		l.Processes, l.ProcessesByDefault = 0, false
	}
	if l.CPUs > 0 && missing("cpus", fmt.Sprint(l.CPUs), false) {
		l.CPUs = 0
	}
	if l.Disk > 0 && !slices.Contains(held, "disk") {
		if !l.DiskByDefault {
			r := paddock.Refused(paddock.ContainmentUnavailable, "The run is limited to writing %d bytes, and this kernel doesn't count them.", l.Disk)
			r.Hint = "The operator uses a kernel with task I/O accounting (/proc/self/io), or leaves `limits.disk` out."
			refusals = append(refusals, r)
		}
		l.Disk, l.DiskByDefault = 0, false
	}
	return l, refusals
}
