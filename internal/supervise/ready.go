//go:build linux

package supervise

import (
	"fmt"
	"sync"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/failpoint"
	"paddock/internal/supervise/ahead"
	"paddock/internal/supervise/bounds"
	"paddock/internal/supervise/walls"
)

// Held is what holds one run. Much of it can be made while the run is still being written
// down, and is undone if it never is. A nil Held holds nothing, and may be let go of.
type Held struct {
	*walls.Walls                // nil before Look
	Bounds       *bounds.Bounds // the limits of the tree; nil before Look, and if they couldn't be made
	Cgroup       string         // says where we are
	Ahead        *ahead.Process // what was forked before the job was there, if it is of use

	job    Job
	once   sync.Once
	making sync.WaitGroup
	err    error // of Make
	undone sync.Once
	rest   sync.WaitGroup
}

// Early reports whether what holds the run of job can be made before its directory is in
// its place. Else the layers of its workspace are in there, or what its proxy notes.
func Early(job Job) bool {
	return job.Contain.Workspace != paddock.OverlayWorkspace && job.Contain.Network != "allowlist"
}

// Begin puts us where the run's supervisor belongs, and looks whether process, which was
// forked ahead and may be nil, is of use. It is Held's from then on.
func Begin(job Job, process *ahead.Process) *Held {
	h := &Held{job: job, Ahead: process}
	if !process.Fits(job) {
		h.Ahead = nil
		h.rest.Go(process.Close)
	} else if account := process.Account(); account != nil {
		h.job.Contain.Account = account // the job names none
	}
	h.Cgroup = lifecycle.Place(job.LeaveCgroup)
	return h
}

// Make begins to make ready what holds the run, once: meanwhile its directory gets what a
// supervisor keeps there. What goes wrong is told by Look: it is
// written down with the run, if there is one. The run is told to trust ca.
func (h *Held) Make(files Files, places *ahead.Places, ca []byte) {
	h.once.Do(func() { h.making.Go(func() { h.make(files, places, ca) }) })
}

func (h *Held) make(files Files, places *ahead.Places, ca []byte) {
	h.Walls, h.err = walls.New(h.job, files, func() (*lifecycle.Hold, error) {
		made, err := bounds.New(string(h.job.RunID), h.job.Limits, h.job.Contain.Level, places.Now())
		if err != nil {
			return nil, fmt.Errorf("limits: %w", err)
		}
		h.Bounds = made
		return made.Hold, nil
	}, ca, h.Ahead.Namespace, h.Ahead.Hedge(), h.Ahead.Seen())
	failpoint.Here("ready/made")
}

// Look waits until the run is made ready and says what went wrong, and else looks at its
// workspace, last of all before the start. The exported fields are there after it.
func (h *Held) Look() error {
	h.making.Wait()
	if h.err != nil {
		return h.err
	}
	return h.Walls.Look()
}

// Release takes away what Make made, once. What is in the workspace goes when gone has
// returned: when the run's mounts are gone.
func (h *Held) Release(gone func()) {
	h.undone.Do(func() {
		h.making.Wait()
		if h.Bounds != nil {
			h.Bounds.Release()
		}
		gone()
		if h.Walls != nil {
			h.Walls.Release()
		}
		h.Ahead.Close() // if it didn't come to a start
		h.rest.Wait()
	})
}

// Close is Release of what no run was started in.
func (h *Held) Close() {
	if h != nil {
		h.Release(func() {})
	}
}
