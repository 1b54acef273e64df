// Package rundir is the state directory: where each run has a directory of its
// own that is the truth about it.
//
//	STATE/format                 the layout's version
//	STATE/claim.lock             held while a run is claimed
//	STATE/runs/20261129/r…/      one run; the day is that of its id, in UTC
//	STATE/active/r…              an entry per run that isn't known to be settled
//	STATE/unseen/HASH/r…         an entry per run whose end its owner hasn't read
//	STATE/keys/HASH              idempotency keys
//	STATE/tmp/r…/                runs that are being written down
//	STATE/homes/HASH/            private home directories, one per root
//	STATE/policies/DIGEST        texts of policies; a run that one decided has a link, policy
//	STATE/journal/               what package journal keeps
//	STATE/prune.*, swept         held while output is removed or kept; the last sweep's time; room for prune
//	STATE/pack.lock              held while output is packed
//	STATE/roots/HASH             held while a run's changes are brought into a root
//	STATE/stage.json, stage/     what package executor keeps of the stage
//
// A run's directory is the matter of package record. It holds request.json,
// decision.json, claim.json, token, lock, stdin (if text was given), control (a
// socket), started.json, stdout, stderr, frames (or, once it is over, one of these
// packed, with .zst, and plain if another can't be) and, when the run is over,
// outcome.json; deeds.jsonl says what was done with its changes, which the
// directory workspace has if they are kept apart; before.json and quarantine are
// of package quarantine. It is made in STATE/tmp, locked, and renamed into place;
// the locked descriptor goes to the supervisor, so that the lock is free only when
// nobody looks after the run.
// outcome.json is linked into place, so the first one wins and none is ever
// replaced. Package links has what the entries in active, unseen and keys are.
//
// # Limits
//
// The package starts and signals nothing, judges no request and reads no
// output but to digest what a vanished supervisor left. It trusts the state
// directory's owner, whom it checks: a program that runs uncontained as the
// same user can change what is written here. On other systems than Linux no run is
// ever made, and the state directory only serves to explain decisions.
package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/rundir/disk"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/format"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/places"
	"paddock/internal/rundir/record/process"
	"paddock/internal/rundir/shelf"
	"paddock/internal/trust"
)

// The directories of a state directory.
const (
	runsDir = "runs"
	tmpDir  = "tmp"
)

// The record of one run, and what it says.
type (
	Dir     = record.Dir
	Intent  = record.Intent
	Sealed  = record.Sealed
	Started = record.Started
)

// OpenRun opens the run directory at path.
func OpenRun(path string) (*Dir, error) { return record.Open(path) }

// ProcessOf names the live process with this id; os.ErrProcessDone when there
// is none, or only a zombie.
func ProcessOf(pid int) (paddock.Process, error) { return process.Of(pid) }

// A State is an open state directory. Its methods may be called concurrently,
// and by as many processes as like. The zero State is unusable; see [Open].
type State struct {
	places.Places
	path       string
	index      links.Index
	turn       chan struct{}                       // holds one token: the goroutine that may try for claim.lock
	claim      *os.File                            // claim.lock
	shelf      shelf.Shelf                         // what is known of days that are listed again and again
	unwritable error                               // why it is only read; nil when it isn't
	ended      func(*Dir) error                    // see OnEnd; nil for none
	lost       func(*Dir) (*paddock.Deeper, error) // see OnLost; nil for none
	unborn     func(paddock.RunID, string)         // see OnUnborn; nil for none
	step       func(string)                        // called after each step that a crash could follow; only tests set it
}

// Open opens the state directory at path and makes it, owner-only, where it is
// missing. It refuses a directory that anybody but root and the caller could
// change, one on a network file system, one of a newer layout, and one that
// holds other things.
func Open(path string) (*State, error) {
	place, err := trust.User().MakeDir(path)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	defer place.Close()
	real := place.Path
	if err := disk.Local(place.File, real, place.Stat.Dev); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := format.Check(real, migration); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", real, err)
	}
	for _, name := range []string{runsDir, links.ActiveDir, links.UnseenDir, links.KeysDir, tmpDir, places.Homes, places.Roots, places.Policies} {
		if err := durable.MakeDir(filepath.Join(real, name)); err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
	}
	claim, err := os.OpenFile(filepath.Join(real, links.Lock), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return &State{Places: places.Places{State: real}, path: real, index: links.Index{State: real}, turn: make(chan struct{}, 1), claim: claim}, nil
}

// Waits reports whether to write something down here takes waiting for a disk.
func (s *State) Waits() bool { return durable.Waits(s.path) }

// Path returns the directory's real path, with every symbolic link followed.
func (s *State) Path() string { return s.path }

// Close lets go of the directory. Runs and their locks aren't touched.
func (s *State) Close() error {
	if s.claim == nil {
		return nil
	}
	if err := s.claim.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// Prepare writes a run down, durably, in a directory that is locked and that
// nobody sees yet. The caller publishes or abandons it; a directory that its
// maker left behind is swept by [State.Reconcile].
func (s *State) Prepare(ctx context.Context, id paddock.RunID, rec Intent) (*Dir, error) {
	if err := errors.Join(ctx.Err(), s.unwritable); err != nil {
		return nil, err
	}
	return record.Prepare(filepath.Join(s.path, tmpDir), id, rec, s.at)
}

// Run returns the directory of a run; the error is fs.ErrNotExist when there
// is none, also when id isn't an id at all.
func (s *State) Run(id paddock.RunID) (*Dir, error) {
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return record.Open(s.PathOf(id))
}

// PathOf is where the run's directory is once it is published. The id must be one.
func (s *State) PathOf(id paddock.RunID) string {
	return filepath.Join(s.path, runsDir, shelf.Day(id), string(id))
}

// stands says whether the run has a directory, and whether that has an outcome,
// without reading either.
func (s *State) stands(id paddock.RunID) (there, settled bool, err error) {
	if there, err = durable.Exists(s.PathOf(id)); err != nil || !there {
		return false, false, err
	}
	settled, err = record.Settled(s.PathOf(id))
	return there, settled, err
}

func (s *State) at(step string) {
	failpoint.Here("claim/" + step)
	if s.step != nil {
		s.step(step)
	}
}
