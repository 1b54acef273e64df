// Package bounds holds a run to the limits of its tree and finds out which of
// them it met.
//
// # Limits
//
// Nothing is ended here. Where no cgroup counts, no limit is ever met but that of
// the disk, which we count ourselves.
package bounds

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/supervise/bounds/written"
)

// lookEvery is how often it is asked whether the kernel has ended a process for
// want of memory, where it may leave the others.
const lookEvery = time.Second

// Bounds are what holds one run.
type Bounds struct {
	*lifecycle.Hold
	limits paddock.Limits
	before time.Duration // what children of this process had taken
}

// New makes the bounds of the run called name, in places.
func New(name string, l paddock.Limits, level paddock.Level, places *lifecycle.Places) (*Bounds, error) {
	hold, err := lifecycle.NewHold(name, l, level, places)
	if err != nil {
		return nil, err
	}
	return &Bounds{hold, l, children()}, nil
}

// Enforced says what enforces each limit, that of open files included if there
// is one.
func (b *Bounds) Enforced(openFiles int) map[string]string {
	means := maps.Clone(b.Means)
	if openFiles > 0 {
		means[resource.OpenFiles] = resource.RlimitProcess
	}
	return means
}

// NextLook returns when to ask Starved next, nil where there is no need: where
// memory isn't limited, or the kernel ends the whole tree at once.
func (b *Bounds) NextLook(after func(time.Duration) <-chan time.Time) <-chan time.Time {
	if !b.Partial() {
		return nil
	}
	return after(lookEvery)
}

// Starved reports whether the kernel has ended a process of the run for want of
// memory. What is left of such a tree seldom says so, and should be ended too.
func (b *Bounds) Starved() bool { return known(b.OOMKills()) > 0 }

// OutOfMemory is the reason of a run that starved.
func (b *Bounds) OutOfMemory() paddock.Reason {
	return paddock.Reason{Kind: paddock.ReasonOutOfMemory, Limit: b.limits.Memory}
}

// WithForks adds to what the run was denied the processes that it couldn't make.
func (b *Bounds) WithForks(denied []paddock.Denial) []paddock.Denial {
	hits := known(b.ProcessLimitHits())
	if hits == 0 {
		return denied
	}
	denied = append(denied, paddock.Denial{
		Call: "fork", Count: int64(hits),
		Text: fmt.Sprintf("the run tried to start more than %d processes and threads at once; start fewer, or ask the operator to raise `limits.processes`", b.limits.Processes),
	})
	slices.SortStableFunc(denied, func(a, b paddock.Denial) int { return cmp.Compare(b.Count, a.Count) })
	return denied
}

// known is n; zero if that can't be known.
func known(n int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "what the run used:", err)
		return 0
	}
	return n
}

// CPU is how much time of processors the run took: what its cgroup counted, else what
// the kernel says of this process's children that ended, which the run's proxy is one
// of, and what took knows beside that.
func (b *Bounds) CPU(took func(ended func() time.Duration) time.Duration) paddock.Duration {
	counted, err := b.Hold.CPU()
	if err != nil || counted == 0 {
		counted = took(children) - b.before
	}
	return paddock.Duration(max(0, counted.Truncate(time.Millisecond)))
}

func children() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Release removes what was made. What the kernel didn't end stays in its group.
func (b *Bounds) Release() {
	if err := b.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "cgroups of the run:", err)
	}
}

// WatchDisk asks w again and again, until over, and tells why the run has to end
// when it has written too much.
func (b *Bounds) WatchDisk(w *written.Watch, holder int, after func(time.Duration) <-chan time.Time, now func() time.Time, over <-chan struct{}, tell func(paddock.Reason)) {
	limit := b.limits.Disk
	for limit > 0 {
		select {
		case <-after(w.Next()):
		case <-over:
			return
		}
		found, err := w.Look(holder, now())
		if err != nil {
			tell(paddock.Reason{Kind: paddock.ReasonSink, Detail: "what the run writes can't be counted: " + err.Error()})
			return
		}
		if found > limit {
			tell(paddock.Reason{Kind: paddock.ReasonDiskLimit, Limit: limit, Written: found})
			return
		}
	}
}
