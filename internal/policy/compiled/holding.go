package compiled

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled/document"
)

// unsaid are the limits where the policy says nothing. What contains nothing
// limits no tree unless it is told to.
func unsaid(c document.Containment) paddock.Limits {
	l := paddock.Limits{Timeout: defaultTimeout, Output: defaultOutput, OpenFiles: defaultOpenFiles}
	if c.Require != paddock.Off {
		l.Memory, l.MemoryByDefault = defaultMemory, true
		l.Processes, l.ProcessesByDefault = defaultProcesses, true
		l.Disk, l.DiskByDefault = defaultDisk, true
	}
	return l
}

// within fills what l doesn't say from the limits around it.
func within(l document.Limits, around paddock.Limits) paddock.Limits {
	return paddock.Limits{
		Timeout:            cmp.Or(l.Timeout, around.Timeout),
		Idle:               cmp.Or(l.Idle, around.Idle),
		Output:             cmp.Or(l.Output, around.Output),
		OpenFiles:          cmp.Or(l.OpenFiles, around.OpenFiles),
		Memory:             cmp.Or(l.Memory, around.Memory),
		Processes:          cmp.Or(l.Processes, around.Processes),
		CPUs:               cmp.Or(l.CPUs, around.CPUs),
		Disk:               cmp.Or(l.Disk, around.Disk),
		FileSize:           cmp.Or(l.FileSize, around.FileSize),
		AtLimit:            strings.TrimPrefix(cmp.Or(l.AtLimit, around.AtLimit), paddock.AtLimitEnd),
		MemoryByDefault:    l.Memory == 0 && around.MemoryByDefault,
		ProcessesByDefault: l.Processes == 0 && around.ProcessesByDefault,
		DiskByDefault:      l.Disk == 0 && around.DiskByDefault,
	}
}

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

// Uncontained refuses where runs can't be contained as the policy requires: for
// want of the level, unless it is among those that can be given, unavailable says
// what the others lack; or of an account, unowned.
func (f *File) Uncontained(as paddock.ContainAs, levels []paddock.Level, unavailable map[paddock.Level]string, unowned *paddock.Refusal) []*paddock.Refusal {
	var refusals []*paddock.Refusal
	if !slices.Contains(levels, as.Level) {
		refusals = append(refusals, f.without(as.Level, len(levels) == 0, unavailable[as.Level]))
	}
	if unowned == nil && as.RunAs != "" && as.Account == nil {
		unowned = paddock.Refused(paddock.ContainmentUnavailable, "Whose `run_as: %s` is wasn't looked up here.", as.RunAs)
	}
	if unowned != nil {
		refusals = append(refusals, unowned)
	}
	return refusals
}

// without refuses for want of level, of which why says what is missing.
func (f *File) without(level paddock.Level, none bool, why string) *paddock.Refusal {
	requires := "The policy requires containment"
	if f.Sections["containment"] == (paddock.Position{}) {
		requires = "The policy says nothing of containment and so requires"
	}
	r := paddock.Refused(paddock.ContainmentUnavailable, "%s `%s`, which can't be given here%s.", requires, level, strings.TrimSuffix(": "+why, ": "))
	if none {
		r.Hint = "This version runs commands on Linux only; here it can check and explain policies."
	}
	return r
}
