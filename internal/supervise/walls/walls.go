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
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/protect"
	"paddock/internal/control/handover"
)

// Plan plans how the run of job is held to what it was granted, its tree by hold.
// Exec is what is executed and dir where, ca the certificates that it is to trust
// beside the machine's. What was put into the workspace stays until release is
// called, which is to be called in any case.
func Plan(job handover.Job, exec, dir *os.File, hold *lifecycle.Hold, ca []byte) (plan *contain.Plan, release func(), err error) {
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
	if err == nil {
		plan, err = planned(job, exec, dir, hold, guard, ca)
	}
	return plan, release, err
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

func planned(job handover.Job, execFile, dir *os.File, hold *lifecycle.Hold, guard *protect.Guard, ca []byte) (*contain.Plan, error) {
	exec, err := contain.IdentityOf(execFile)
	if err != nil {
		return nil, err
	}
	start, err := contain.IdentityOf(dir)
	if err != nil {
		return nil, err
	}
	wish := contain.Wish{
		Level: job.Contain.Level, Network: job.Contain.Network, Read: job.Contain.Read, Write: job.Contain.Write,
		Root: job.Root, Dir: job.Dir, Home: job.Home, Programs: job.Programs, OpenFiles: job.OpenFiles, Exec: exec, Start: start,
		Join: hold.Join(), Rlimits: hold.Rlimits, CA: ca,
	}
	if guard != nil {
		wish.Protect = guard.Paths()
	}
	return contain.NewPlan(wish, contain.Probe(append(wish.Read, wish.Write...)...))
}
