package compiled

import (
	"cmp"
	"fmt"
	"slices"

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
	}
	return l
}

// within fills what l doesn't say from the limits around it.
func within(l document.Limits, around paddock.Limits) paddock.Limits {
	return paddock.Limits{
		Timeout:            cmp.Or(l.Timeout, around.Timeout),
		Output:             cmp.Or(l.Output, around.Output),
		OpenFiles:          cmp.Or(l.OpenFiles, around.OpenFiles),
		Memory:             cmp.Or(l.Memory, around.Memory),
		Processes:          cmp.Or(l.Processes, around.Processes),
		CPUs:               cmp.Or(l.CPUs, around.CPUs),
		MemoryByDefault:    l.Memory == 0 && around.MemoryByDefault,
		ProcessesByDefault: l.Processes == 0 && around.ProcessesByDefault,
	}
}

// Held returns what is left of l where only the limits called held can be
// enforced: a default that can't be is left out, and what the policy says and
// can't be is named in missing, as name and value.
func Held(l paddock.Limits, held []string) (left paddock.Limits, missing [][2]string) {
	miss := func(name, value string, byDefault bool) bool {
		if slices.Contains(held, name) {
			return false
		}
		if !byDefault {
			missing = append(missing, [2]string{name, value})
		}
		return true
	}
	if l.Memory > 0 && miss("memory", fmt.Sprintf("%d bytes", l.Memory), l.MemoryByDefault) {
		l.Memory, l.MemoryByDefault = 0, false
	}
	if l.Processes > 0 && miss("processes", fmt.Sprint(l.Processes), l.ProcessesByDefault) {
		l.Processes, l.ProcessesByDefault = 0, false
	}
	if l.CPUs > 0 && miss("cpus", fmt.Sprint(l.CPUs), false) {
		l.CPUs = 0
	}
	return l, missing
}
