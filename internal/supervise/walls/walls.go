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

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/owner"
	"paddock/internal/contain/protect"
	"paddock/internal/control/handover"
	"paddock/internal/spawn"
)

// Plan plans how the run of job is held to what it was granted, its tree by hold.
// Exec is what is executed, dir where, and copies are those of the job. What was
// put into the workspace stays until release is called, which is to be called in
// any case.
func Plan(job handover.Job, exec, dir *os.File, copies []*os.File, hold *lifecycle.Hold) (plan *contain.Plan, release func(), err error) {
	guard, err := keep(job)
	if err != nil || guard == nil {
		release = func() {}
	} else {
		release = func() {
			// What it can't remove is found by the next run in the workspace.
			if err := guard.Release(); err != nil {
				fmt.Fprintln(os.Stderr, "placeholders:", err)
			}
		}
	}
	if err != nil {
		return nil, release, err
	}
	wish := contain.Wish{Account: account(job), Held: job.Held}
	for i, file := range copies {
		wish.Copies = append(wish.Copies, contain.Copy{Path: job.Copies[i], File: file})
	}
	if wish.Shown, err = shown(job, wish.Account); err == nil {
		plan, err = planned(job, wish, exec, dir, hold, guard)
	}
	remove := release
	return plan, func() { remove(); hide(wish.Shown) }, err
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

// shown takes hold of what the run may write, as its own.
func shown(job handover.Job, account *paddock.Account) (mounts map[string]*os.File, err error) {
	if account == nil || job.Contain.Level != paddock.Full {
		return nil, nil
	}
	show := owner.As(*account, spawn.UserNamespace)
	defer func() { err = errors.Join(err, show.Close()) }()
	mounts = map[string]*os.File{}
	for _, path := range append([]string{job.Root, job.Home}, job.Contain.Write...) {
		if path == "" || mounts[path] != nil {
			continue
		}
		if mounts[path], err = show.Show(path, path == job.Root || path == job.Home); err != nil {
			delete(mounts, path)
			hide(mounts)
			return nil, err
		}
	}
	return mounts, nil
}

// hide lets go of mounts; what a run has of them stays.
func hide(mounts map[string]*os.File) {
	for path, f := range mounts {
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "mount of", path+":", err)
		}
	}
}

// keep readies what in the workspace must stay as it is.
func keep(job handover.Job) (*protect.Guard, error) {
	if job.Contain.Level != paddock.Full || job.Contain.ReadOnly { // nothing there can be changed
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

func planned(job handover.Job, wish contain.Wish, execFile, dir *os.File, hold *lifecycle.Hold, guard *protect.Guard) (*contain.Plan, error) {
	exec, err := contain.IdentityOf(execFile)
	if err != nil {
		return nil, err
	}
	start, err := contain.IdentityOf(dir)
	if err != nil {
		return nil, err
	}
	wish.Level, wish.Network, wish.Read, wish.Write = job.Contain.Level, job.Contain.Network, job.Contain.Read, job.Contain.Write
	wish.Root, wish.Dir, wish.Home, wish.Programs, wish.OpenFiles = job.Root, job.Dir, job.Home, job.Programs, job.OpenFiles
	wish.ReadOnly = job.Contain.ReadOnly
	wish.Exec, wish.Start, wish.Join, wish.Rlimits = exec, start, hold.Join(), hold.Rlimits
	if guard != nil {
		wish.Protect = guard.Paths()
	}
	return contain.NewPlan(wish, contain.Probe(append(wish.Read, wish.Write...)...))
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
