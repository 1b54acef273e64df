package resource

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/contain/lifecycle/resource/hierarchy"
)

// A Tree is our place in the cgroup v2 hierarchy.
type Tree = hierarchy.Tree

// Folder is the name of the directory below which all our cgroups are made.
const Folder = hierarchy.OwnFolder

// A Host is what this process may use to hold a run. The zero Host has rlimits
// only.
type Host struct {
	// V2 is our place in the cgroup v2 hierarchy.
	V2 hierarchy.Tree
	// V1 maps a controller of cgroup v1 to our folder in its hierarchy.
	V1 map[string]string
	// Hard maps the number of an rlimit to what this process may set at most;
	// one that isn't there is unlimited.
	Hard map[int]uint64
}

// A Plan is how limits are held. It can be printed and compared.
type Plan struct {
	// Directories are made in this order, one group in each.
	Directories []Directory
	// Rlimits are set by the starter just before the program runs.
	Rlimits []Rlimit
	// Means says what enforces which limit.
	Means Means
}

// A Directory is a folder in which a group is made, and what is written there.
type Directory struct {
	// Kind is CgroupV2 or CgroupV1.
	Kind   string
	Folder string
	// Enable are the v2 controllers that Folder must hand down.
	Enable []string
	Files  []File
}

// A File is a setting of a group.
type File struct {
	Name, Value string
	// Optional: kernels that don't have the file don't need it.
	Optional bool
	// Held: the kernel refuses a value above an ancestor's, and then that holds.
	Held bool
}

// An Rlimit is a limit on each process.
type Rlimit struct {
	Name       string // as in prlimit(1)
	Resource   int    // Linux's number
	Soft, Hard uint64
}

// Linux's numbers of rlimits, the same on all machines that we build for.
const (
	rlimitCPU    = 0
	rlimitFsize  = 1
	rlimitNproc  = 6
	rlimitNofile = 7
	rlimitAS     = 9
)

// Plan decides how l is held on this host. It looks at nothing but its
// arguments. The error is an [*Unenforceable] when a limit can't be held and
// l.Accept takes nothing for it.
func (h Host) Plan(l Limits) (Plan, error) {
	if err := l.check(); err != nil {
		return Plan{}, err
	}
	b := builder{host: h, plan: Plan{Means: Means{}}}
	if h.V2.Folder != "" {
		b.directory(CgroupV2, h.V2.Folder) // to end the tree, and to count its CPU time
	}
	b.hold(Memory, "memory", l.Memory != 0, memoryFiles(l.Memory))
	b.hold(Processes, "pids", l.Processes != 0, samePidsFiles(l.Processes))
	b.hold(CPUs, "cpu", l.CPUs != 0, cpuFiles(l.CPUs))
	b.approximate(l)
	b.each(l)
	slices.Sort(b.missing)
	b.missing = slices.DeleteFunc(b.missing, func(name string) bool {
		accepted := slices.Contains(l.Accept.Unenforced, name)
		if accepted {
			b.plan.Means[name] = None
		}
		return accepted
	})
	if len(b.missing) > 0 {
		return Plan{}, &Unenforceable{Limits: b.missing, Why: h.why(b.missing)}
	}
	return b.plan, nil
}

// Limiting are its directories in which something is limited.
func (p Plan) Limiting() []Directory {
	return slices.DeleteFunc(slices.Clone(p.Directories), func(d Directory) bool { return len(d.Files) == 0 })
}

// files are the settings of one limit, for both kinds of cgroup.
type files map[string][]File

func memoryFiles(bytes int64) files {
	n := strconv.FormatInt(bytes, 10)
	return files{
		CgroupV2: {
			{Name: "memory.max", Value: n},
			{Name: "memory.swap.max", Value: "0", Optional: true}, // no swap in this kernel
			{Name: "memory.oom.group", Value: "1", Optional: true},
		},
		CgroupV1: {
			{Name: "memory.limit_in_bytes", Value: n},
			{Name: "memory.memsw.limit_in_bytes", Value: n, Optional: true}, // swap isn't accounted for, so:
			{Name: "memory.swappiness", Value: "0"},
		},
	}
}

func samePidsFiles(n int) files {
	max := []File{{Name: "pids.max", Value: strconv.Itoa(n)}}
	return files{CgroupV2: max, CgroupV1: max}
}

// cpuFiles gives the tree its share of every tenth of a second, or of every
// second where that share would be less than the kernel can schedule.
func cpuFiles(cpus float64) files {
	period := int64(100_000)
	if cpus < 0.01 {
		period = 1_000_000
	}
	quota := int64(math.Round(cpus * float64(period)))
	return files{
		CgroupV2: {{Name: "cpu.max", Value: fmt.Sprint(quota, " ", period)}},
		CgroupV1: {
			{Name: "cpu.cfs_period_us", Value: fmt.Sprint(period), Held: true},
			{Name: "cpu.cfs_quota_us", Value: fmt.Sprint(quota), Held: true},
		},
	}
}

// A builder collects a plan.
type builder struct {
	host    Host
	plan    Plan
	missing []string
}

// hold puts a limit on the tree, through a controller of v2 or else of v1.
func (b *builder) hold(name, controller string, wanted bool, set files) {
	if !wanted {
		return
	}
	var kind, folder string
	if slices.Contains(b.host.V2.Controllers, controller) && b.host.V2.Folder != "" {
		kind, folder = CgroupV2, b.host.V2.Folder
	} else if b.host.V1[controller] != "" {
		kind, folder = CgroupV1, b.host.V1[controller]
	} else {
		b.missing = append(b.missing, name)
		return
	}
	d := b.directory(kind, folder)
	if kind == CgroupV2 {
		d.Enable = append(d.Enable, controller)
	}
	d.Files = append(d.Files, set[kind]...)
	b.plan.Means[name] = kind
}

// directory returns the plan's directory in folder. Controllers of v1 may share
// a hierarchy.
func (b *builder) directory(kind, folder string) *Directory {
	at := slices.IndexFunc(b.plan.Directories, func(d Directory) bool { return d.Folder == folder })
	if at < 0 {
		at = len(b.plan.Directories)
		b.plan.Directories = append(b.plan.Directories, Directory{Kind: kind, Folder: folder})
	}
	return &b.plan.Directories[at]
}

// approximate takes an rlimit for what no cgroup holds, if that is accepted.
func (b *builder) approximate(l Limits) {
	b.missing = slices.DeleteFunc(b.missing, func(name string) bool {
		switch {
		case name == Memory && l.Accept.AddressSpace:
			b.rlimit(Memory, RlimitAddressSpace, "as", rlimitAS, uint64(l.Memory))
		case name == Processes && l.Accept.UserNamespace:
			b.rlimit(Processes, RlimitProcesses, "nproc", rlimitNproc, uint64(l.Processes))
		default:
			return false
		}
		return true
	})
}

// each puts the limits that are meant for each process, and the one that has to
// be watched.
func (b *builder) each(l Limits) {
	b.rlimit(OpenFiles, RlimitProcess, "nofile", rlimitNofile, uint64(l.OpenFiles))
	b.rlimit(FileSize, RlimitProcess, "fsize", rlimitFsize, uint64(l.FileSize))
	b.rlimit(CPUTime, RlimitProcess, "cpu", rlimitCPU, uint64((l.CPUTime+time.Second-1)/time.Second))
	if l.Disk != 0 {
		b.plan.Means[Disk] = Watched
	}
}

func (b *builder) rlimit(name, means, short string, resource int, value uint64) {
	if value == 0 {
		return
	}
	soft, hard := value, value
	if resource == rlimitCPU {
		hard++ // a second to write down what it has after SIGXCPU
	}
	if most, ok := b.host.Hard[resource]; ok { // what we may not raise holds already
		soft, hard = min(soft, most), min(hard, most)
	}
	b.plan.Rlimits = append(b.plan.Rlimits, Rlimit{Name: short, Resource: resource, Soft: soft, Hard: hard})
	b.plan.Means[name] = means
}

// why says for both kinds of cgroup why they don't hold the named limits.
func (h Host) why(limits []string) string {
	v2 := h.V2.Why
	if h.V2.Folder != "" {
		v2 = fmt.Sprintf("%s has the controllers %q", path.Dir(h.V2.Folder), strings.Join(h.V2.Controllers, " "))
	} else if v2 == "" {
		v2 = "there is none"
	}
	return fmt.Sprintf("cgroup v2: %s; cgroup v1: no hierarchy that is ours to write for %s", v2, strings.Join(limits, ", "))
}
