//go:build linux

// Package walls works out what holds one run: it readies the protected places of
// its workspace and plans its containment.
//
// # Limits
//
// Nothing is enforced here. Package contain plans, and package spawn carries the
// plan out.
package walls

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/protect"
	"paddock/internal/control/handover"
	"paddock/internal/workspace"
)

// Walls are what was made ready to hold one run.
type Walls struct {
	// Plan is for one start.
	Plan *contain.Plan

	job       handover.Job
	exec, dir *os.File
	hold      *lifecycle.Hold
	guard     *protect.Guard    // nil where writes don't reach the workspace
	layout    *workspace.Layout // nil where they do
}

// New plans how the run of job is held to what it was granted, its tree by hold.
// Exec is what is executed and dir where. What was put into the workspace stays
// until Release is called, which is to be called in any case.
func New(job handover.Job, exec, dir *os.File, hold *lifecycle.Hold) (w *Walls, err error) {
	w = &Walls{job: job, exec: exec, dir: dir, hold: hold}
	if job.Contain.Workspace == paddock.OverlayWorkspace {
		w.layout, err = workspace.Prepare(job.Root, job.RunDir)
	} else {
		w.guard, err = keep(job)
	}
	if err == nil {
		err = w.plan()
	}
	return w, err
}

// Again plans another start after one that failed at step, if there is another
// way: where the kernel lays no layer over the workspace, a copy does. Otherwise
// it returns cause, which is what the kernel said.
func (w *Walls) Again(step string, cause error) (again bool, err error) {
	if w.layout == nil || w.layout.Kind != workspace.Overlay || step != contain.StepOverlay {
		return false, cause
	}
	if err = w.layout.FallBack("the kernel lays no overlay over it: " + cause.Error()); err == nil {
		err = w.plan()
	}
	return err == nil, err
}

// Release takes away what was put into the workspace.
func (w *Walls) Release() {
	if w.guard == nil {
		return
	}
	// What it can't remove is found by the next run in the workspace.
	if err := w.guard.Release(); err != nil {
		fmt.Fprintln(os.Stderr, "placeholders:", err)
	}
}

// keep readies what in the workspace must stay as it is.
func keep(job handover.Job) (*protect.Guard, error) {
	if job.Contain.Level != paddock.Full {
		return nil, nil
	}
	root, err := os.OpenFile(job.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var except []string
	for _, path := range job.Contain.Write {
		if inside, err := filepath.Rel(job.Root, path); err == nil && filepath.IsLocal(inside) {
			except = append(except, inside)
		}
	}
	return protect.Keep(root, except)
}

func (w *Walls) plan() error {
	job := w.job
	exec, err := contain.IdentityOf(w.exec)
	if err != nil {
		return err
	}
	start, err := contain.IdentityOf(w.dir)
	if err != nil {
		return err
	}
	wish := contain.Wish{
		Level: job.Contain.Level, Network: job.Contain.Network, Read: job.Contain.Read, Write: job.Contain.Write,
		Root: job.Root, Dir: job.Dir, Home: job.Home, Programs: job.Programs, OpenFiles: job.OpenFiles, Exec: exec, Start: start,
		Join: w.hold.Join(), Rlimits: w.hold.Rlimits,
	}
	if w.guard != nil {
		wish.Protect = w.guard.Paths()
	}
	if err := w.apart(&wish); err != nil {
		return err
	}
	w.Plan, err = contain.NewPlan(wish, contain.Probe(slices.Concat(wish.Read, wish.Write)...))
	if err == nil && w.layout != nil {
		w.Plan.Enforced.Workspace, w.Plan.Enforced.WorkspaceWhy = w.layout.Kind, w.layout.Why
	}
	return err
}

// apart has the run write beside the workspace.
func (w *Walls) apart(wish *contain.Wish) error {
	switch {
	case w.layout == nil:
		return nil
	case w.layout.Kind == workspace.Overlay:
		wish.Overlay = w.layout.Dir
		return nil
	}
	wish.Stand = w.layout.Stand
	var err error
	if wish.Start, err = w.copied(wish.Dir, wish.Start); err == nil {
		wish.Exec, err = w.copied(wish.Programs[0], wish.Exec)
	}
	return err
}

// copied returns what stands in the copy for what was judged, which must still
// be at path: else the copy is of something else. Outside of the workspace
// nothing is copied.
func (w *Walls) copied(path string, judged contain.Identity) (contain.Identity, error) {
	inside, err := filepath.Rel(w.job.Root, path)
	if err != nil || !filepath.IsLocal(inside) {
		return judged, nil
	}
	for _, granted := range slices.Concat(w.job.Contain.Read, w.job.Contain.Write) {
		if in, err := filepath.Rel(granted, path); err == nil && filepath.IsLocal(in) && granted != w.job.Root {
			return judged, nil // shown from the machine, above the copy
		}
	}
	if there, err := identityAt(path); err != nil || there != judged {
		return judged, errors.Join(err, fmt.Errorf("%s is another file than the one that was judged", path))
	}
	return identityAt(filepath.Join(w.layout.Stand, inside))
}

func identityAt(path string) (contain.Identity, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return contain.Identity{}, err
	}
	defer f.Close()
	return contain.IdentityOf(f)
}
