package lifecycle

import (
	"errors"
	"os"
	"slices"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle/resource"
)

// OfTree are the limits that hold a whole tree, by the names in a policy.
var OfTree = []string{resource.Memory, resource.Processes, resource.CPUs}

// Holdable lists which of [OfTree] and disk can be enforced here for a run of the
// level, and says why not the others.
func Holdable(level paddock.Level) (names []string, why string) {
	names, why = holdable(level)
	if _, err := os.Stat("/proc/self/io"); err == nil {
		names = append(slices.Clone(names), resource.Disk)
	}
	return names, why
}

func holdable(level paddock.Level) (names []string, why string) {
	all := resource.Limits{Memory: 1 << 30, Processes: 1, CPUs: 1, Accept: accept(level)}
	_, err := resource.Probe().Plan(all)
	var missing *resource.Unenforceable
	if errors.As(err, &missing) {
		return slices.DeleteFunc(slices.Clone(OfTree), func(name string) bool { return slices.Contains(missing.Limits, name) }), missing.Why
	}
	return OfTree, ""
}

// accept says what else than a cgroup may hold a limit. At level full a run has a
// user namespace of its own, so its user's processes are the run's; of root's
// the kernel doesn't count any.
func accept(level paddock.Level) resource.Accept {
	return resource.Accept{UserNamespace: level == paddock.Full && os.Geteuid() != 0}
}

// A Hold is what holds one run to the limits of its tree.
type Hold struct {
	// Means says of each of [OfTree] what enforces it, or none, and of the limits
	// on files that there are.
	Means map[string]string
	// Rlimits are to be set just before the program runs.
	Rlimits []resource.Rlimit

	group *resource.Group // nil where no cgroup is needed
}

// NewHold makes what holds a run called name to l, in places. A default that can't be held
// is left out, any other is an error.
//
// Its processes are the run's, which ends by other means: nothing stays in a
// group but for what the kernel doesn't end.
func NewHold(name string, l paddock.Limits, level paddock.Level, places *Places) (*Hold, error) {
	defer places.Close()
	wanted := resource.Limits{Memory: l.Memory, Processes: l.Processes, CPUs: l.CPUs, Disk: l.Disk, FileSize: l.FileSize, Accept: accept(level)}
	if l.MemoryByDefault {
		wanted.Accept.Unenforced = append(wanted.Accept.Unenforced, resource.Memory)
	}
	if l.ProcessesByDefault {
		wanted.Accept.Unenforced = append(wanted.Accept.Unenforced, resource.Processes)
	}
	h, err := hold(name, wanted, places)
	if err != nil && places != nil { // they may have changed
		h, err = hold(name, wanted, nil)
	}
	if err == nil || len(wanted.Accept.Unenforced) == 0 {
		return h, err
	}
	// The kernel refused what it seemed to offer; for defaults no run is given up.
	if l.MemoryByDefault {
		wanted.Memory = 0
	}
	if l.ProcessesByDefault {
		wanted.Processes = 0
	}
	return hold(name, wanted, nil)
}

func hold(name string, l resource.Limits, places *Places) (*Hold, error) {
	plan, err := places.plan(l)
	if err != nil {
		return nil, err
	}
	h := &Hold{Means: plan.Means, Rlimits: plan.Rlimits}
	for _, limit := range OfTree {
		if h.Means[limit] == "" {
			h.Means[limit] = resource.None
		}
	}
	// A group that limits nothing costs every run some milliseconds.
	plan.Directories = plan.Limiting()
	if len(plan.Directories) == 0 {
		return h, nil
	}
	if h.group, err = places.group(plan, name); err != nil {
		return nil, err
	}
	return h, nil
}

// Join returns the files to each of which the program, which has one thread by
// then, writes "0".
func (h *Hold) Join() []*os.File {
	if h.group == nil {
		return nil
	}
	return h.group.JoinThread()
}

// Cgroup returns the group as one that can end its tree, nil where it can't.
func (h *Hold) Cgroup() *Cgroup {
	if h.group == nil || h.group.KillFile() == nil {
		return nil
	}
	return &Cgroup{Group: h.group, Procs: h.group.Join()[0], Kill: h.group.KillFile()}
}

// Partial reports whether the kernel may end one process of the tree for want
// of memory and leave the others.
func (h *Hold) Partial() bool { return h.Means[resource.Memory] == resource.CgroupV1 }

// OOMKills is how many processes the kernel ended for want of memory; zero where
// nothing counts.
func (h *Hold) OOMKills() (int, error) {
	if h.group == nil {
		return 0, nil
	}
	return h.group.OOMKills()
}

// CPU is how much time of processors was taken; zero where nothing counts.
func (h *Hold) CPU() (time.Duration, error) {
	if h.group == nil {
		return 0, nil
	}
	return h.group.CPU()
}

// ProcessLimitHits is how many times no process could be made; zero where nothing
// counts.
func (h *Hold) ProcessLimitHits() (int, error) {
	if h.group == nil {
		return 0, nil
	}
	return h.group.ProcessLimitHits()
}

// Remove removes the group. It is called once and last.
func (h *Hold) Remove() error {
	if h.group == nil {
		return nil
	}
	return h.group.Remove()
}
