package judge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/artifact/packed"
	"paddock/internal/executor/judge/feed"
	"paddock/internal/policy"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/trust"
)

// stdinOf opens the kept output of a settled run that principal may read. An error
// is our fault.
func (j *Judge) stdinOf(p paddock.Principal, id paddock.RunID, s paddock.Stream) (policy.StdinFacts, *os.File, error) {
	file, lost, err := j.keptOutput(p, id, s)
	if trust.Fault(err) {
		return policy.StdinFacts{}, nil, err
	}
	if err != nil {
		return policy.StdinFacts{Checked: true, Problem: err.Error()}, nil, nil //nolint:nilerr // it is among the facts
	}
	return policy.StdinFacts{Checked: true, Lost: lost}, file, nil
}

// keptOutput opens what a run printed, and says how many bytes of it weren't kept.
func (j *Judge) keptOutput(p paddock.Principal, id paddock.RunID, s paddock.Stream) (file *os.File, lost int64, err error) {
	if s == "" {
		s = paddock.Stdout
	}
	if s != paddock.Stdout && s != paddock.Stderr {
		return nil, 0, fmt.Errorf("a run has no stream %q to feed in; there are stdout and stderr", s)
	}
	dir, err := j.cfg.State.Run(id)
	var run paddock.Run
	if err == nil {
		run, err = dir.Record(j.cfg.Now())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && p.Kind != paddock.Operator && p != run.Principal:
		return nil, 0, errors.New("there is no such run among those that you may see")
	case err != nil:
		return nil, 0, fmt.Errorf("run %s can't be read: %w", id, err)
	case run.Outcome == nil:
		return nil, 0, fmt.Errorf("run %s is not over yet; wait for its end", id)
	case run.Pruned != nil:
		return nil, 0, fmt.Errorf("the output of run %s was removed to make room", id)
	}
	sum := run.Outcome.Stdout
	if s == paddock.Stderr {
		sum = run.Outcome.Stderr
	}
	file, err = openKept(dir, s, sum)
	return file, sum.Dropped, err
}

// openKept opens a kept stream, which may be packed: see [Judgement.Stdin].
func openKept(dir *rundir.Dir, s paddock.Stream, sum paddock.StreamSummary) (*os.File, error) {
	name := filepath.Join(dir.Path(), string(s))
	file, err := durable.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if packed, packedErr := durable.Open(name + packed.Suffix); packedErr == nil {
			file, err = packed, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the %s of run %s can't be read: %w", s, dir.ID(), err)
	}
	size, err := feed.Size(file)
	if err == nil && size != sum.Bytes {
		err = fmt.Errorf("it isn't the %d bytes that were recorded", sum.Bytes)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the %s of run %s can't be fed in: %w", s, dir.ID(), err), file.Close())
	}
	return file, nil
}

// Stdin returns the file that the program reads, open until the Judgement is
// closed; nil when there is none. Text was written into the run's directory. Of a
// run's output it is what is shown, see [feed.Shown].
func (j *Judgement) Stdin(ctx context.Context, state *rundir.State, dir *rundir.Dir) (file *os.File, err error) {
	if j.request.Command.Stdin.Text != nil {
		j.Found.StdinFile, err = dir.OpenStdin()
		return j.Found.StdinFile, err
	}
	file = j.Found.StdinFile
	if file == nil || j.request.Command.Stdin.Run == "" {
		return file, nil
	}
	shown, err := feed.Shown(ctx, state, file)
	if err == nil {
		j.Found.StdinFile = shown
	}
	return shown, err
}
