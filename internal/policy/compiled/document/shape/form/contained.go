package form

import (
	"cmp"
	"slices"
	"time"

	"paddock"
)

// What holds where the policy says nothing.
const (
	defaultTimeout   = paddock.Duration(120 * time.Second)
	defaultOutput    = 10 << 20
	defaultOpenFiles = 1024
	defaultMemory    = 2 << 30
	defaultProcesses = 256
	defaultDisk      = 10 << 30
)

// Programs are the executables, and the agents that a task can be given to.
func (f *File) Programs() []Executable {
	all := slices.Clone(f.Executables)
	for _, p := range f.Delegates.Providers {
		all = append(all, p.Executable)
	}
	return all
}

// As is how programs are contained.
func (c Containment) As() paddock.ContainAs {
	as := paddock.ContainAs{Level: cmp.Or(c.Require, paddock.Full), Network: cmp.Or(c.Network, "none")}
	if as.Level == paddock.Off {
		as.Network = "host"
	}
	as.Read, as.Write = Values(c.Read), Values(c.Write)
	as.RunAs, as.Deeper = c.RunAs, c.Deeper
	if c.Workspace == paddock.OverlayWorkspace {
		as.Workspace = c.Workspace
	}
	return as
}

// Unsaid are the limits where the policy says nothing. What contains nothing
// limits no tree unless it is told to.
func (c Containment) Unsaid() paddock.Limits {
	l := paddock.Limits{Timeout: defaultTimeout, Output: defaultOutput, OpenFiles: defaultOpenFiles}
	if c.Require != paddock.Off {
		l.Memory, l.MemoryByDefault = defaultMemory, true
		l.Processes, l.ProcessesByDefault = defaultProcesses, true
		l.Disk, l.DiskByDefault = defaultDisk, true
	}
	return l
}

// Within fills what l doesn't say from the limits around it.
func (l Limits) Within(around paddock.Limits) paddock.Limits {
	return paddock.Limits{
		Timeout:   cmp.Or(l.Timeout, around.Timeout),
		Idle:      cmp.Or(l.Idle, around.Idle),
		Output:    cmp.Or(l.Output, around.Output),
		OpenFiles: cmp.Or(l.OpenFiles, around.OpenFiles),
		Memory:    cmp.Or(l.Memory, around.Memory), Processes: cmp.Or(l.Processes, around.Processes),
		CPUs:               cmp.Or(l.CPUs, around.CPUs),
		Disk:               cmp.Or(l.Disk, around.Disk),
		FileSize:           cmp.Or(l.FileSize, around.FileSize),
		AtLimit:            cmp.Or(l.AtLimit, around.AtLimit),
		MemoryByDefault:    l.Memory == 0 && around.MemoryByDefault,
		ProcessesByDefault: l.Processes == 0 && around.ProcessesByDefault,
		DiskByDefault:      l.Disk == 0 && around.DiskByDefault,
	}
}
