package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/failpoint"
	"paddock/internal/journal"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// ErrAnother is of a run that has another supervisor, or had one: what became of it is for
// that one to say.
var ErrAnother = errors.New("the run has another supervisor")

// Take makes the files of the output, by which it takes the run: of two supervisors of it the
// second has [ErrAnother].
func Take(dir *rundir.Dir, opt artifact.Options) (*artifact.Bank, error) {
	bank, err := artifact.Create(dir.Path(), opt)
	if errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(ErrAnother, err)
	}
	return bank, err
}

// A Pending is an outcome that is written down and isn't the run's yet. It is to be
// published.
type Pending struct {
	path    string
	dir     *rundir.Dir
	outcome paddock.Outcome
	now     func() time.Time
	ready   *durable.Pending // nil if it couldn't be written down
	err     error            // why
	journal *writer.Writer   // nil if there is none, or it is opened later
	end     journal.Entry
}

// A Journal is one that is opened while the run still goes on. Nil is none.
type Journal struct {
	ready  chan struct{}
	writer *writer.Writer // nil if it couldn't be opened: who tells it says why
}

// Open begins to open the journal at path, if there is one, and to look where it ends.
func Open(ctx context.Context, path string, now func() time.Time) *Journal {
	if path == "" {
		return nil
	}
	j := &Journal{ready: make(chan struct{})}
	go func() {
		defer close(j.ready)
		w, err := writer.Open(path, writer.Options{Now: now})
		if err != nil {
			return
		}
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		w.Look(looking)
		j.writer = w
	}()
	return j
}

func (j *Journal) opened() *writer.Writer {
	if j == nil {
		return nil
	}
	<-j.ready
	return j.writer
}

// Prepare writes the outcome down, in the room that was reserved for it if need be: all
// that can be done of it before the run may be called settled. While it is done the kernel
// takes away what held the run. The journal is the one at path, opened already unless it
// is nil.
func Prepare(ctx context.Context, path string, opened *Journal, dir *rundir.Dir, outcome paddock.Outcome, now func() time.Time) *Pending {
	if opened == nil {
		opened = Open(ctx, path, now)
	}
	p := &Pending{path: path, dir: dir, outcome: outcome, now: now}
	failpoint.Here("outcome/publish")
	p.ready, p.err = dir.PrepareOutcome(outcome)
	if p.journal = opened.opened(); p.journal != nil {
		p.end = endOf(dir, outcome)
	}
	return p
}

// Publish makes the outcome the run's. The disk may be full for a moment only, so it is
// tried for some seconds; without an outcome the next user of the state directory calls
// the run lost. Then the journal is told, before anybody hears that the run is settled.
// Kept says that the outcome is the run's and all of that is done.
func (p *Pending) Publish(ctx context.Context, after func(time.Duration) <-chan time.Time) (kept bool, err error) {
	defer p.close()
	for try := 0; ; try++ {
		var first bool
		if p.err == nil {
			first, p.err = p.ready.Publish()
		}
		if p.err == nil {
			err := p.published(ctx, first)
			return first && err == nil, err
		}
		if try == 9 {
			return false, fmt.Errorf("the outcome can't be written: %w", p.err)
		}
		<-after(500 * time.Millisecond)
		failpoint.Here("outcome/publish")
		p.ready, p.err = p.dir.PrepareOutcome(p.outcome)
	}
}

// published tells who is to be told.
func (p *Pending) published(ctx context.Context, first bool) error {
	failpoint.Here("outcome/published")
	var err error
	switch {
	case !first:
		err = Later(ctx, p.path, p.dir, p.outcome, p.now)
	case p.journal != nil:
		err = errors.Join(noted(p.dir, appended(ctx, p.journal, p.end)), quarantine.Forget(p.dir.Path()))
	default:
		err = errors.Join(End(ctx, p.path, p.dir, p.outcome, p.now), quarantine.Forget(p.dir.Path()))
	}
	failpoint.Here("outcome/told")
	return err
}

func (p *Pending) close() {
	if p.journal != nil {
		_ = p.journal.Close() // what was to be written is, or its error was told
	}
}
