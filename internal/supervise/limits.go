//go:build linux

package supervise

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle/resource"
)

// lookEvery is how often it is asked whether the kernel has ended a process for
// want of memory, where it may leave the others.
const lookEvery = time.Second

// nextLook returns when to look next, nil where there is no need: where memory
// isn't limited, or the kernel ends the whole tree at once.
func (r *run) nextLook() <-chan time.Time {
	if !r.hold.Partial() {
		return nil
	}
	return r.opt.After(lookEvery)
}

// usage reads what the tree has used; zero if that can't be known.
func (r *run) usage() resource.Usage {
	used, err := r.hold.Usage()
	if err != nil {
		fmt.Fprintln(os.Stderr, "what the run used:", err)
	}
	return used
}

// starved reports whether the kernel has ended a process of the run for want of
// memory. What is left of a tree then seldom says so, and is ended too.
func (r *run) starved() bool { return r.usage().OOMKills > 0 }

func (r *run) outOfMemory() paddock.Reason {
	return paddock.Reason{Kind: paddock.ReasonOutOfMemory, Limit: r.job.Limits.Memory}
}

// means says what enforces each limit.
func (r *run) means() map[string]string {
	means := maps.Clone(r.hold.Means)
	if r.job.OpenFiles > 0 {
		means[resource.OpenFiles] = resource.RlimitProcess
	}
	return means
}

// withForks adds to what the run was denied the processes that it couldn't make.
func (r *run) withForks(denied []paddock.Denial) []paddock.Denial {
	hits := r.usage().ProcessLimitHits
	if hits == 0 {
		return denied
	}
	denied = append(denied, paddock.Denial{
		Call: "fork", Count: int64(hits),
		Text: fmt.Sprintf("the run tried to have more than %d processes and threads at once; start fewer, or ask the operator to raise `limits.processes`", r.job.Limits.Processes),
	})
	slices.SortStableFunc(denied, func(a, b paddock.Denial) int { return cmp.Compare(b.Count, a.Count) })
	return denied
}

// unhold removes the run's cgroups. What the kernel doesn't end stays in them.
func (r *run) unhold() {
	if err := r.hold.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "cgroups of the run:", err)
	}
}
