package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a tree has used so far, and how often it met a limit. Zero is
// also the value of what nothing counts: peaks and events are counted where a
// cgroup holds the limit.
type Usage struct {
	// MemoryPeak is in bytes, with swap where the kernel accounts for it.
	MemoryPeak int64
	// CPU is counted in the v2 hierarchy, or where v1 holds CPUs and accounts
	// for them in the same hierarchy.
	CPU time.Duration
	// ProcessesPeak is how many processes and threads there were at once.
	ProcessesPeak int
	// OOMKills is how many processes the kernel ended for want of memory. Any
	// other kill isn't counted, so this alone tells the two apart.
	OOMKills int
	// ProcessLimitHits is how many times no process or thread could be made.
	ProcessLimitHits int
}

// Usage reads what the tree has used. It can be asked until Remove, also when
// all processes are gone.
func (g *Group) Usage() (Usage, error) {
	var u Usage
	for _, d := range g.directories {
		if err := u.read(d); err != nil {
			return Usage{}, err
		}
	}
	return u, nil
}

// OOMKills is [Usage.OOMKills] alone: it reads only what holds the memory.
func (g *Group) OOMKills() (int, error) {
	return g.count("memory.", map[string]string{CgroupV2: "memory.events", CgroupV1: "memory.oom_control"}, "oom_kill")
}

// ProcessLimitHits is [Usage.ProcessLimitHits] alone.
func (g *Group) ProcessLimitHits() (int, error) {
	return g.count("pids.", map[string]string{CgroupV2: "pids.events", CgroupV1: "pids.events"}, "max")
}

// count reads how often something happened, from the directory in which a file of
// the controller was set.
func (g *Group) count(controller string, file map[string]string, event string) (int, error) {
	for _, d := range g.directories {
		if slices.ContainsFunc(d.set, func(f File) bool { return strings.HasPrefix(f.Name, controller) }) {
			r := reader{at: d.path}
			return int(r.counts(file[d.kind])[event]), r.err
		}
	}
	return 0, nil
}

func (u *Usage) read(d made) error {
	r := reader{at: d.path}
	if d.kind == CgroupV2 {
		u.MemoryPeak = max(u.MemoryPeak, r.number("memory.peak"))
		u.OOMKills = max(u.OOMKills, int(r.counts("memory.events")["oom_kill"]))
		u.CPU = max(u.CPU, time.Duration(r.counts("cpu.stat")["usage_usec"])*time.Microsecond)
	} else {
		u.MemoryPeak = max(u.MemoryPeak, r.number("memory.max_usage_in_bytes"), r.number("memory.memsw.max_usage_in_bytes"))
		u.OOMKills = max(u.OOMKills, int(r.counts("memory.oom_control")["oom_kill"]))
		u.CPU = max(u.CPU, time.Duration(r.number("cpuacct.usage")))
	}
	u.ProcessesPeak = max(u.ProcessesPeak, int(r.number("pids.peak")))
	u.ProcessLimitHits = max(u.ProcessLimitHits, int(r.counts("pids.events")["max"]))
	return r.err
}

// A reader reads a cgroup's files. Those that aren't there count nothing: their
// controller isn't in this hierarchy, or the kernel is older. Its first error
// stays.
type reader struct {
	at  string
	err error
}

func (r *reader) text(name string) string {
	b, err := os.ReadFile(path.Join(r.at, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && r.err == nil {
		r.err = err
	}
	return strings.TrimSpace(string(b))
}

func (r *reader) counts(name string) map[string]int64 { return parseCounts(r.text(name)) }

func (r *reader) number(name string) int64 {
	text := r.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s/%s: %q isn't a number", r.at, name, text)
	}
	return n
}

// parseCounts reads lines of a name and a number. Lines of another shape are of
// no interest.
func parseCounts(text string) map[string]int64 {
	counts := map[string]int64{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			counts[strings.TrimSuffix(name, ":")] = n // /proc writes a colon
		}
	}
	return counts
}

// Written returns how many bytes the given processes have caused to be written
// to disks, with the children that they have waited for. Give it all members of
// a tree and the process that reaps its orphans, or what those wrote is missed.
// Files that live in memory don't count, nor does what was deleted before it
// reached the disk. A process that is gone counts nothing; its parent has it.
// Neither does one that we may not look at.
//
// No controller that is commonly delegated counts buffered writes of a tree, so
// this is how [Limits].Disk is kept: look now and then, and end the run when it
// is past its limit. Between two looks it can go as far as the disk is fast.
func Written(pids []int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return 0, err
		}
		counts := parseCounts(string(b))
		sum += counts["write_bytes"] - counts["cancelled_write_bytes"]
	}
	return max(sum, 0), nil
}
