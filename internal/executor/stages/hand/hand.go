// Package hand hands a run to a supervisor, in two steps: the job while the run is being
// written down, so that what is to hold it is made ready meanwhile, and the word that it
// is written down, without which nothing starts.
//
// # Limits
//
// It knows neither what is in a job nor what is said of a run, and writes nothing down.
// What fails on the way is told when the word is due: it belongs into the run's record.
package hand

import (
	"context"
	"errors"
	"os"

	"paddock"
	"paddock/internal/executor/stages"
	"paddock/internal/failpoint"
)

// A Job is what a supervisor is handed first, but for the run's lock.
type Job struct {
	Text  []byte
	Files []*os.File
	Done  func() // closes what was opened for it
	Left  func() // unless nil, takes away what a supervisor left that was ended before it did
}

// A Hand is one run on its way to a supervisor. It is for one goroutine at a time.
type Hand struct {
	stage *stages.Stage
	job   Job
	left  func() // of the job
	given bool
	step  string // what failed
	err   error
}

var errOver = errors.New("the supervisor was let go of, or has the word")

// Rouse has a supervisor wake up that is at hand, where some are kept ready: a request is
// there, and may become a run's. What goes wrong is told when one is taken.
func Rouse(kept bool, open func() (*stages.Pool, error)) {
	if !kept {
		return
	}
	if pool, err := open(); err == nil {
		pool.Rouse()
	}
}

// Ready takes a supervisor, outside of our cgroup if it is to leave that, for what pack
// packs: it is told the digest of the supervisor's binary, and says which step failed.
func Ready(ctx context.Context, open func() (*stages.Pool, error), leave bool, pack func(paddock.Digest) (Job, string, error)) *Hand {
	h := &Hand{}
	pool, err := open()
	if err != nil {
		return h.failed("find the supervisor", err)
	}
	digest, err := pool.Digest(ctx)
	if err != nil {
		return h.failed("identify the supervisor", err)
	}
	if h.job, h.step, h.err = pack(digest); h.err != nil {
		return h
	}
	h.left = h.job.Left
	if h.stage, err = pool.Take(leave); err != nil {
		h.done()
		return h.failed("start the supervisor", err)
	}
	return h
}

func (h *Hand) failed(step string, err error) *Hand {
	h.step, h.err = step, err
	return h
}

// Give hands the job over, with a copy of the run's lock: from then on the run is looked
// after as long as the supervisor is there, also when we aren't.
func (h *Hand) Give(lock *os.File) {
	if h.err != nil || h.given {
		return
	}
	failpoint.Here("handover/ready")
	h.given = true
	err := h.stage.Give(h.job.Text, append([]*os.File{lock}, h.job.Files...))
	h.done()
	if err != nil {
		h.stage = nil
		_ = h.failed("hand over the run", err)
	}
	failpoint.Here("handover/readied")
}

func (h *Hand) done() {
	if h.job.Done != nil {
		h.job.Done()
	}
	h.job = Job{}
}

// Given reports whether a supervisor may have made something ready for the run.
func (h *Hand) Given() bool { return h.given }

// Say says the word that say makes: that the run is written down, durably. The stage is
// the run's then. Step says what failed; what was made ready is undone in that case.
func (h *Hand) Say(ctx context.Context, say func() (text []byte, files []*os.File, step string, err error)) (stage *stages.Stage, step string, err error) {
	defer h.Drop(ctx)
	if h.err != nil {
		return nil, h.step, h.err
	}
	text, files, step, err := say()
	if err != nil {
		return nil, step, err
	}
	if err := ctx.Err(); err != nil {
		return nil, "hand over the run", err
	}
	failpoint.Here("handover/give")
	stage, h.stage = h.stage, nil
	if err := stage.Give(text, files); err != nil {
		return nil, "hand over the run", err
	}
	failpoint.Here("handover/given")
	return stage, "", nil
}

// Drop is for a run that isn't to be, or can't start. It returns when what was made ready
// for it is undone, or ctx ends. It does nothing once the word is said.
func (h *Hand) Drop(ctx context.Context) {
	if h == nil {
		return
	}
	h.done()
	if h.err == nil {
		_ = h.failed("hand over the run", errOver)
	}
	if h.stage == nil {
		return
	}
	stage := h.stage
	gone := stage.Leave()
	h.stage = nil
	if !h.given {
		return
	}
	select {
	case <-gone:
		if !stage.Ended() && h.left != nil {
			h.left()
		}
	case <-ctx.Done():
	}
}
