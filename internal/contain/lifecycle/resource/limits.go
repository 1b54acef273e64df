package resource

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Limits is what a run's tree may use at most. Zero is no limit.
type Limits struct {
	// Memory is in bytes, swap included.
	Memory int64
	// Processes counts threads too, as the kernel does.
	Processes int
	// CPUs is how many processors' time the tree gets, such as 0.5.
	CPUs float64
	// OpenFiles holds for each process.
	OpenFiles int
	// FileSize is the largest size in bytes to which a process can make a file.
	FileSize int64
	// CPUTime is how long each process may compute, in whole seconds rounded up.
	CPUTime time.Duration
	// Disk is how many bytes the tree may write to disks. The kernel doesn't
	// enforce it: see package counts.
	Disk int64

	// Accept says what may stand in for a limit that can't be held. Zero accepts
	// nothing.
	Accept Accept
}

// Accept is what a caller takes where a limit of the tree can't be held.
type Accept struct {
	// AddressSpace accepts, for memory, a limit on the address space of each
	// process. That isn't the same: many processes may use it each, and programs
	// that reserve more than they use (Go, Java, node) fail early.
	AddressSpace bool

	// UserNamespace says that the run gets a user namespace of its own and isn't
	// the host's uid 0, for whom the kernel doesn't count. Then the limit on its
	// user's processes is a limit on the run. Everywhere else it would count
	// what the same user runs elsewhere, so it isn't used.
	UserNamespace bool

	// Unenforced names limits that may go unenforced, as in [Means].
	Unenforced []string
}

// The names of the limits: in Means, in errors and in a policy.
const (
	Memory    = "memory"
	Processes = "processes"
	CPUs      = "cpus"
	OpenFiles = "open_files"
	FileSize  = "file_size"
	CPUTime   = "cpu_time"
	Disk      = "disk"
)

// Means maps the name of each limit that was asked for to what enforces it.
type Means map[string]string

// What enforces a limit. Only the two cgroups hold a whole tree.
const (
	CgroupV2           = "cgroup-v2"
	CgroupV1           = "cgroup-v1"
	RlimitProcess      = "rlimit"       // each process, which is what the limit means
	RlimitAddressSpace = "rlimit-as"    // each process's address space instead of memory
	RlimitProcesses    = "rlimit-nproc" // the user's processes in a user namespace of its own
	Watched            = "watched"      // whoever supervises counts, and ends the run
	None               = "none"
)

// Unenforceable is the error of a plan that can't hold what it should.
type Unenforceable struct {
	// Limits names the limits.
	Limits []string
	// Why says for both kinds of cgroup why they don't hold them.
	Why string
}

func (e *Unenforceable) Error() string {
	return fmt.Sprintf("can't limit %s: %s; run paddock as root, or where a cgroup is delegated (systemd-run --user --scope -p Delegate=yes …), or leave the limit out",
		strings.Join(e.Limits, ", "), e.Why)
}

// maxCPUs is more than any machine has, and small enough for the kernel's
// arithmetic; minCPUs is the least it can schedule, a millisecond a second.
const minCPUs, maxCPUs = 0.001, 1 << 16

// check refuses what is no limit at all.
func (l Limits) check() error {
	for _, v := range []struct {
		name  string
		value int64
	}{
		{Memory, l.Memory}, {Processes, int64(l.Processes)}, {OpenFiles, int64(l.OpenFiles)},
		{FileSize, l.FileSize}, {CPUTime, int64(l.CPUTime)}, {Disk, l.Disk},
	} {
		if v.value < 0 {
			return fmt.Errorf("%s: %d is less than nothing", v.name, v.value)
		}
	}
	if math.IsNaN(l.CPUs) || l.CPUs != 0 && (l.CPUs < minCPUs || l.CPUs > maxCPUs) {
		return fmt.Errorf("%s: %v isn't between %v and %d", CPUs, l.CPUs, minCPUs, maxCPUs)
	}
	known := []string{Memory, Processes, CPUs, OpenFiles, FileSize, CPUTime, Disk}
	for _, name := range l.Accept.Unenforced {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%q is no limit; limits are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
