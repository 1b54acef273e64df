package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable/losses"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/rundir/record/label"
)

// Record composes the run as of now out of its files. Any process may call it
// at any moment.
func (d *Dir) Record(now time.Time) (paddock.Run, error) {
	sealed, err := d.Sealed()
	if err != nil {
		return paddock.Run{}, err
	}
	// The outcome first: once it is there nothing else changes, while a run
	// seen as started could settle before we looked.
	outcome, err := d.Outcome()
	if err != nil {
		return paddock.Run{}, err
	}
	started, err := d.Started()
	state, unknown := waiting.State(d.path)
	if err := errors.Join(err, unknown); err != nil {
		return paddock.Run{}, err
	}
	run := begun(sealed, state)
	if started != nil {
		at, process := started.At, started.Supervisor
		run.State, run.StartedAt, run.Supervisor = paddock.Running, &at, &process
		run.Isolation, run.Tree, run.Cgroup, run.Namespace = started.Isolation, started.Tree, started.Cgroup, started.Namespace
		if enforced := started.Enforced; enforced.Level != "" {
			run.Enforced = &enforced
		}
	}
	end := now
	if outcome != nil {
		run.State, run.Outcome, end = outcome.State, outcome, outcome.EndedAt
		run.Stdout, run.Stderr = outcome.Stdout, outcome.Stderr
	} else if err := d.live(&run, now); err != nil {
		return paddock.Run{}, err
	}
	if outcome != nil && outcome.State == paddock.Lost { // no other is doubted
		if run.Addenda, err = d.Addenda(); err != nil {
			return paddock.Run{}, err
		}
	}
	if run.Kept, run.Pruned, err = prune.Of(d.path); err != nil {
		return paddock.Run{}, err
	}
	if g := sealed.Decision.Grant(); g != nil && (g.Contain.Workspace != "" || outcome != nil && outcome.Deeper != nil) {
		if run.Deeds, err = d.Deeds(); err != nil {
			return paddock.Run{}, err
		}
	}
	if started != nil {
		run.Duration = paddock.Duration(max(0, end.Sub(started.At)))
	}
	return run, nil
}

// begun is the record of a run of which nothing but its making is known.
func begun(s Sealed, state paddock.State) paddock.Run {
	req, run := s.Request, paddock.Run{
		ID: s.ID, State: state, Label: s.Request.Command.Label, Argv: s.Request.Command.Argv,
		Dir: s.Request.Command.Dir, Workspace: s.Request.Command.Workspace, Principal: s.Request.Principal, CreatedAt: s.CreatedAt,
		PolicyDigest: s.Decision.PolicyDigest, RequestDigest: s.RequestDigest,
	}
	run.Door, run.Tied, run.Approval = req.Door, req.Tied, s.Decision.Approval
	if run.Label == "" {
		run.Label = label.Of(run.Argv)
	}
	if g := s.Decision.Grant(); g != nil {
		run.Dir, run.Executable, run.Limits, run.Containment = g.Dir, g.Executable.Path, g.Limits, g.Contain.Level
	}
	return run
}

// live says what a run that isn't settled has printed so far, and when last.
func (d *Dir) live(run *paddock.Run, now time.Time) error {
	var last time.Time
	if run.StartedAt != nil {
		last = *run.StartedAt
	}
	for name, bytes := range map[string]*int64{"stdout": &run.Stdout.Bytes, "stderr": &run.Stderr.Bytes} {
		info, err := os.Lstat(d.file(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // nothing has been printed
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s isn't a regular file", name)
		}
		*bytes = info.Size()
		if changed := info.ModTime(); changed.After(last) {
			last = changed
		}
	}
	if run.State == paddock.Running {
		run.Silent = paddock.Duration(max(0, now.Sub(last)))
	}
	return losses.Add(d.path, &run.Stdout, &run.Stderr)
}
