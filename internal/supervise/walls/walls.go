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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/listed"
	"paddock/internal/contain/owner"
	"paddock/internal/contain/protect"
	"paddock/internal/control/handover"
	"paddock/internal/workspace"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// Walls are what was made ready to hold one run.
type Walls struct {
	// Plan is for one start.
	Plan *contain.Plan

	job    handover.Job
	files  handover.Files
	hold   *lifecycle.Hold
	ca     []byte
	maps   owner.Namespace
	hedge  *contain.Hedge
	host   contain.Host
	shown  map[string]*os.File // as the run's own; nil where the run is our account's
	guard  *protect.Guard      // nil where writes don't reach the workspace
	layout *workspace.Layout   // nil where they do
	watch  *quarantine.Watch   // nil where nobody looks
}

// New plans how the run of job, which came with files, is held to what it was
// granted: its tree by what limits makes, and with ca as the certificates that it is to trust
// beside the machine's. Owners are mapped by what maps makes, and hedge may be of use at level standard. Seen is the
// machine, if somebody has looked since the run was asked for. What was put into the workspace stays until Release is
// called, which is to be called in any case.
//
// Little of it waits for anything else, and it is half of what there is to do before
// the program starts, so it is done at once where there are processors for it, what
// takes longest first.
func New(job handover.Job, files handover.Files, limits func() (*lifecycle.Hold, error), ca []byte, maps owner.Namespace, hedge *contain.Hedge, seen *contain.Host) (w *Walls, err error) {
	w = &Walls{job: job, files: files, ca: ca, maps: maps, hedge: hedge}
	var beside sync.WaitGroup
	var unshown, unlimited error
	inPlace := job.Contain.Workspace != paddock.OverlayWorkspace
	beside.Go(func() { w.hold, unlimited = limits() })
	if inPlace {
		beside.Go(func() { unshown = w.show(job.Root, "") })
	}
	switch paths := slices.Concat(job.Contain.Read, job.Contain.Write); {
	case job.Contain.Level == paddock.Off: // which needs nothing of the machine
		w.host = contain.Host{EUID: os.Geteuid(), EGID: os.Getegid()}
	case seen != nil && len(paths) == 0:
		w.host = *seen
	default:
		beside.Go(func() { w.host = contain.Probe(paths...) })
	}
	if inPlace {
		w.guard, err = keep(job)
	} else {
		w.layout, err = workspace.Prepare(job.Root, job.RunDir)
	}
	beside.Wait()
	if err = errors.Join(unlimited, err, unshown); err == nil {
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
	w.hide()
	w.unwatch()
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
	if job.Contain.Level != paddock.Full || job.Contain.ReadOnly { // nothing there can be changed
		return nil, nil
	}
	// By no link: the job has its place without any, so one is somebody else's.
	fd, err := unix.Openat2(unix.AT_FDCWD, job.Root, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: job.Root, Err: err}
	}
	return protect.Keep(os.NewFile(uintptr(fd), job.Root), lifted(job))
}

func (w *Walls) plan() error {
	job := w.job
	exec, err := contain.IdentityOf(w.files.Exec)
	if err != nil {
		return err
	}
	start, err := contain.IdentityOf(w.files.Dir)
	if err != nil {
		return err
	}
	wish := contain.Wish{
		Level: job.Contain.Level, Network: job.Contain.Network, Read: job.Contain.Read, Real: job.Contain.Real, Write: job.Contain.Write,
		Root: job.Root, Dir: job.Dir, Home: job.Home, Programs: job.Programs, OpenFiles: job.OpenFiles, Exec: exec, Start: start,
		ReadOnly: job.Contain.ReadOnly, Join: w.hold.Join(), Rlimits: w.hold.Rlimits, Held: job.Held, Account: account(job), CA: w.ca, Door: w.files.Door, Terminal: job.Terminal, Hedge: w.hedge,
	}
	for i, file := range w.files.Copies {
		wish.Copies = append(wish.Copies, contain.Copy{Path: job.Copies[i], File: file})
	}
	if job.Contain.Exec == paddock.ListedExec {
		if wish.Listed, err = listed.Find(slices.Concat(job.Programs, job.Listed)); err != nil {
			return err
		}
	}
	if w.guard != nil {
		wish.Protect = w.guard.Paths()
	}
	if err := w.apart(&wish); err != nil {
		return err
	}
	if wish.Shown = maps.Clone(w.shown); wish.Overlay != "" && w.shown != nil {
		wish.Lower, wish.Layer = w.shown[wish.Root], w.shown[wish.Overlay]
		delete(wish.Shown, wish.Root)
	}
	w.Plan, err = contain.NewPlan(wish, w.host)
	if err == nil {
		w.Plan.Enforced.Deeper = deeper(job)
	}
	if err == nil && w.layout != nil {
		w.Plan.Enforced.Workspace, w.Plan.Enforced.WorkspaceWhy = w.layout.Kind, w.layout.Why
	}
	return err
}

// account is whose the run is, where that isn't us: the policy's word, or at
// full what is kept for runs of root.
func account(job handover.Job) *paddock.Account {
	if job.Contain.Account == nil && job.Contain.Level == paddock.Full && os.Geteuid() == 0 {
		reserved := owner.For(job.RunID)
		return &reserved
	}
	return job.Contain.Account
}

// show takes hold of what the run may write, as its own: of root in the place of the
// workspace, and of overlay, if there is one.
func (w *Walls) show(root, overlay string) (err error) {
	w.hide() // of a start that failed
	as, job := account(w.job), &w.job
	if as == nil || job.Contain.Level != paddock.Full {
		return nil
	}
	show := owner.As(*as, w.maps)
	defer func() { err = errors.Join(err, show.Close()) }()
	w.shown = map[string]*os.File{}
	for _, path := range slices.Concat([]string{job.Root, job.Home, overlay}, job.Contain.Write) {
		if path == "" || w.shown[path] != nil {
			continue
		}
		from, real := path, path == job.Root || path == job.Home || path == overlay
		if path == job.Root {
			from = root
		}
		file, err := show.Show(from, real)
		if err != nil {
			return err
		}
		w.shown[path] = file
	}
	return nil
}

// hide lets go of what was shown; what a run has of it stays.
func (w *Walls) hide() {
	for path, f := range w.shown {
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "mount of", path+":", err)
		}
	}
	w.shown = nil
}

// apart has the run write beside the workspace.
func (w *Walls) apart(wish *contain.Wish) error {
	switch {
	case w.layout == nil:
		return nil
	case w.layout.Kind == workspace.Overlay:
		wish.Overlay = w.layout.Dir
		return w.show(w.job.Root, wish.Overlay)
	}
	wish.Stand = w.layout.Stand
	err := w.show(wish.Stand, "")
	if err != nil {
		return err
	}
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
		return judged, nil //nolint:nilerr // it is outside
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

// Give makes pipes another account's, where the run isn't ours: a program may
// open what it writes to once more, as /dev/stderr.
func Give(files []*os.File, to *paddock.Account) error {
	if to == nil || int(to.UID) == os.Geteuid() {
		return nil
	}
	for _, f := range files {
		if f.Name() == os.DevNull {
			continue
		}
		if err := f.Chown(int(to.UID), int(to.GID)); err != nil {
			return fmt.Errorf("give the pipes to uid %d: %w", to.UID, err)
		}
	}
	return nil
}
