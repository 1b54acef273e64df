package counts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"paddock/internal/kernfs"
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

// Add reads what the cgroup at a path has used; v2 says of which version that is.
func (u *Usage) Add(at string, v2 bool) error {
	r := Reader{At: at}
	if v2 {
		u.MemoryPeak = max(u.MemoryPeak, r.Number("memory.peak"))
		u.OOMKills = max(u.OOMKills, int(r.Counts("memory.events")["oom_kill"]))
	} else {
		u.MemoryPeak = max(u.MemoryPeak, r.Number("memory.max_usage_in_bytes"), r.Number("memory.memsw.max_usage_in_bytes"))
		u.OOMKills = max(u.OOMKills, int(r.Counts("memory.oom_control")["oom_kill"]))
	}
	u.CPU = max(u.CPU, r.CPU(v2))
	u.ProcessesPeak = max(u.ProcessesPeak, int(r.Number("pids.peak")))
	u.ProcessLimitHits = max(u.ProcessLimitHits, int(r.Counts("pids.events")["max"]))
	return r.Err
}

// A Reader reads a cgroup's files. Those that aren't there count nothing: their
// controller isn't in this hierarchy, or the kernel is older. Its first error
// stays.
type Reader struct {
	At  string
	Err error
}

func (r *Reader) text(name string) string {
	b, err := kernfs.Read(path.Join(r.At, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && r.Err == nil {
		r.Err = err
	}
	return strings.TrimSpace(string(b))
}

// CPU reads the time of processors that was taken.
func (r *Reader) CPU(v2 bool) time.Duration {
	if v2 {
		return time.Duration(r.Counts("cpu.stat")["usage_usec"]) * time.Microsecond
	}
	return time.Duration(r.Number("cpuacct.usage"))
}

// Counts reads lines of a name and a number.
func (r *Reader) Counts(name string) map[string]int64 { return Parse(r.text(name)) }

// Number reads one.
func (r *Reader) Number(name string) int64 {
	text := r.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.Err == nil {
		r.Err = fmt.Errorf("%s/%s: %q isn't a number", r.At, name, text)
	}
	return n
}

// Parse reads lines of a name and a number. Lines of another shape are of
// no interest.
func Parse(text string) map[string]int64 {
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
// this is how a limit of the disk is kept: look now and then, and end the run when it
// is past its limit. Between two looks it can go as far as the disk is fast.
func Written(pids []int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		b, err := kernfs.Read("/proc/" + strconv.Itoa(pid) + "/io")
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return 0, err
		}
		counts := Parse(string(b))
		sum += counts["write_bytes"] - counts["cancelled_write_bytes"]
	}
	return max(sum, 0), nil
}
