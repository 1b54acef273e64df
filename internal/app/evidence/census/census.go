// Package census takes stock of a state directory: whether every run in it has a
// record that can be read, whether what leads to runs leads to those that are
// there, whether the journal tells of the same runs, and what crashes have left.
// And it makes again what can be made from the runs alone.
//
// The runs are the truth. Everything else that shows them (entries of runs that
// go on, of ends that weren't read, of idempotency keys, the marks of lines) is an
// index, and deleting it loses nothing.
//
// Any number of others may use the directory meanwhile. What looks wrong only
// because somebody is in the middle of it isn't told of; what is changed is
// changed under the lock that they take.
//
// # Limits
//
// A run that can't be read isn't mended: what is missing is nowhere else. Of each
// run a few words are held in memory, to compare them with the journal. Workspaces
// are looked into only where a record names them, and only for what Paddock puts
// there.
package census

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/app/evidence/census/finding/index"
	"paddock/internal/app/evidence/census/finding/owned"
	"paddock/internal/app/evidence/census/names"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
)

// The words of package finding.
type (
	// A Finding is one thing that is wrong.
	Finding = finding.Finding
	// A Kind says what is wrong.
	Kind = finding.Kind
	// A Report is what was looked at.
	Report = finding.Report
	// Options say how closely to look.
	Options = finding.Options
	// A Change is something that was made again, or taken away.
	Change = index.Change
	// A Rebuilt says what came of making the index again.
	Rebuilt = index.Rebuilt
)

// recent is how old something must be to count as left behind: who makes it would
// be done with it by then.
const recent = time.Minute

// A Census is that of one state directory. See [Of].
type Census struct {
	e     *evidence.Evidence
	state *rundir.State
	index links.Index
}

// Of returns the census of the state directory that e is of, and uses e.
func Of(e *evidence.Evidence) *Census {
	return &Census{e, e.State(), links.Index{State: e.State().Path()}}
}

// Check looks at everything and calls each with what is wrong. The error is of
// the looking; what is found is none.
func (c *Census) Check(ctx context.Context, opt Options, each func(Finding) error) (Report, error) {
	k := &check{Census: c, ctx: ctx, opt: opt, each: each, runs: map[paddock.RunID]told{}, roots: map[string]bool{}}
	k.report.Digests = opt.Digests
	if why := c.state.ReadOnly(); why != nil {
		k.report.ReadOnly = why.Error()
	}
	for _, part := range []func() error{k.layout, k.allRuns, k.indexes, k.used, k.journal, k.outside} {
		if err := errors.Join(part(), ctx.Err()); err != nil {
			return k.report, err
		}
	}
	return k.report, nil
}

// A check is one going over everything.
type check struct {
	*Census
	ctx    context.Context
	opt    Options
	each   func(Finding) error
	report Report
	owned  *owned.Look
	runs   map[paddock.RunID]told
	roots  map[string]bool // workspaces of contained runs; whether one goes on there
}

func (k *check) find(kind Kind, run paddock.RunID, path string, mend finding.Mend, format string, args ...any) error {
	k.report.Findings++
	if rel, err := filepath.Rel(k.state.Path(), path); err == nil && path != "" {
		path = rel
	}
	return k.each(Finding{Kind: kind, Run: run, Path: path, Mend: mend, Detail: fmt.Sprintf(format, args...)})
}

// layout looks at the directory itself and at what is being made in it.
func (k *check) layout() error {
	var err error
	if k.owned, err = owned.At(k.state.Path(), k.find); err != nil {
		return err
	}
	entries, err := os.ReadDir(k.state.Path())
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(k.state.Path(), e.Name())
		dir, ours := names.State[e.Name()]
		switch {
		case temporary(e.Name()):
			err = k.temp("", path)
		case !ours:
			err = k.find(finding.Stranger, "", path, "", "Paddock puts nothing of this name here; look at it and move it away")
		default:
			_, err = k.owned.Plain("", path, dir)
		}
		if err != nil {
			return err
		}
	}
	if err := k.owned.All(); err != nil {
		return err
	}
	return k.beingMade()
}

// temp tells of a file that was never put in place.
func (k *check) temp(run paddock.RunID, path string) error {
	if !k.old(path) {
		return nil
	}
	return k.find(finding.Leftover, run, path, finding.ByUse, "it was to become a file, and who wrote it was ended")
}

// beingMade looks for runs that were about to be made when their maker was ended.
func (k *check) beingMade() error {
	tmp := filepath.Join(k.state.Path(), "tmp")
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	for _, e := range entries {
		path := filepath.Join(tmp, e.Name())
		if !e.IsDir() {
			if err := k.find(finding.Stranger, "", path, "", "only directories of runs that are being made are here; look at it and move it away"); err != nil {
				return err
			}
			continue
		}
		if k.old(path) && !k.held(path) {
			if err := k.find(finding.Leftover, "", path, finding.ByUse, "a run that was being made or removed when that was ended"); err != nil {
				return err
			}
		}
	}
	return nil
}

// old says whether what is at path is there for longer than its making takes.
func (k *check) old(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && k.e.Now().Sub(info.ModTime()) > recent
}

// Rebuild makes the index again from the runs, and calls each with what it changed.
// What is right stays as it is.
func (c *Census) Rebuild(ctx context.Context, each func(Change) error) (Rebuilt, error) {
	if why := c.state.ReadOnly(); why != nil {
		return Rebuilt{}, paddock.Refused(paddock.Unrecordable, "Nothing can be made again here: %v.", why)
	}
	return index.Rebuild(ctx, c.state, each)
}
