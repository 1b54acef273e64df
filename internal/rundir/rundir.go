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
//	STATE/journal/               what package journal keeps
//	STATE/roots/HASH             held while a run's changes are brought into a root
//	STATE/stage.json, stage/     what package executor keeps of the stage
//
// A run's directory is the matter of package record. It holds request.json,
// decision.json, claim.json, token, lock, stdin (if text was given), control (a
// socket), started.json, stdout, stderr, frames and, when the run is over,
// outcome.json; deeds.jsonl says what was done with its changes, which the
// directory workspace has if they are kept apart. It is made in STATE/tmp, locked, and renamed into place; the
// locked descriptor goes to the supervisor, so that the lock is free only when
// nobody looks after the run.
// The entries in active, unseen and keys are hard links to its claim.json, so
// they appear whole or not at all. outcome.json is linked into place, so the
// first one wins and none is ever replaced.
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
	"strings"

	"paddock"
	"paddock/internal/rundir/disk"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/process"
	"paddock/internal/rundir/shelf"
	"paddock/internal/trust"
)

// layout is the version of the directory layout that this code reads and writes.
const layout = "1\n"

// The directories of a state directory.
const (
	runsDir   = "runs"
	activeDir = "active"
	unseenDir = "unseen"
	keysDir   = "keys"
	tmpDir    = "tmp"
	homesDir  = "homes"
	rootsDir  = "roots"
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

// Alive reports whether p is still there: this id, begun at this tick of this
// start of the machine. A process that isn't wholly known isn't alive.
func Alive(p paddock.Process) bool { return process.Alive(p) }

// A State is an open state directory. Its methods may be called concurrently,
// and by as many processes as like. The zero State is unusable; see [Open].
type State struct {
	path  string
	turn  chan struct{}    // holds one token: the goroutine that may try for claim.lock
	claim *os.File         // claim.lock
	ended func(*Dir) error // see OnEnd; nil for none

	// step, when set by a test, is called after each step that a crash could follow.
	step func(name string)
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
	if err := checkFormat(real); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", real, err)
	}
	for _, name := range []string{runsDir, activeDir, unseenDir, keysDir, tmpDir, homesDir, rootsDir} {
		if err := durable.MakeDir(filepath.Join(real, name)); err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
	}
	claim, err := os.OpenFile(filepath.Join(real, "claim.lock"), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return &State{path: real, turn: make(chan struct{}, 1), claim: claim}, nil
}

// Path returns the directory's real path, with every symbolic link followed.
func (s *State) Path() string { return s.path }

// Close lets go of the directory. Runs and their locks aren't touched.
func (s *State) Close() error {
	if err := s.claim.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// Home returns the private home directory for the commands of one root and
// makes it where it is missing.
func (s *State) Home(root string) (string, error) {
	home := filepath.Join(s.path, homesDir, record.HashOf(root))
	if err := durable.MakeDir(home); err != nil {
		return "", err
	}
	return home, nil
}

// HomeOf is Home for commands that run as another account, without mounts by
// which ours would be theirs: the directory is the account's, and others may
// pass through the state directory, though see nothing in it.
func (s *State) HomeOf(root string, account paddock.Account) (string, error) {
	homes := filepath.Join(s.path, homesDir)
	home := filepath.Join(homes, fmt.Sprintf("%s.%d", record.HashOf(root), account.UID))
	err := durable.MakeDir(home)
	if err == nil {
		err = os.Lchown(home, int(account.UID), int(account.GID))
	}
	return home, errors.Join(err, passable(s.path), passable(homes))
}

// passable lets others through a directory.
func passable(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Perm()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// LockRoot takes the lock of those who change the root by hand; nil when
// somebody else has it. Closing the file lets go of it.
func (s *State) LockRoot(root string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	name := filepath.Join(s.path, rootsDir, record.HashOf(root))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	got, err := durable.Lock(f)
	if err != nil || !got {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Prepare writes a run down, durably, in a directory that is locked and that
// nobody sees yet. The caller publishes or abandons it; a directory that its
// maker left behind is swept by [State.Reconcile].
func (s *State) Prepare(ctx context.Context, id paddock.RunID, rec Intent) (*Dir, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return record.Prepare(filepath.Join(s.path, tmpDir), id, rec, s.at)
}

// Run returns the directory of a run; the error is fs.ErrNotExist when there
// is none, also when id isn't an id at all.
func (s *State) Run(id paddock.RunID) (*Dir, error) {
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %v", fs.ErrNotExist, err)
	}
	return record.Open(s.runPath(id))
}

// runPath is where the run's directory is once it is published.
func (s *State) runPath(id paddock.RunID) string {
	return filepath.Join(s.path, runsDir, shelf.Day(id), string(id))
}

// stands says whether the run has a directory, and whether that has an outcome,
// without reading either.
func (s *State) stands(id paddock.RunID) (there, settled bool, err error) {
	if there, err = durable.Exists(s.runPath(id)); err != nil || !there {
		return false, false, err
	}
	settled, err = record.Settled(s.runPath(id))
	return there, settled, err
}

func (s *State) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// checkFormat reads the layout's version, or writes it into an empty directory.
func checkFormat(dir string) error {
	name := filepath.Join(dir, "format")
	b, err := durable.Read(name, 64)
	if errors.Is(err, fs.ErrNotExist) {
		if err := refuseStrangers(dir); err != nil {
			return err
		}
		// Two first callers at once write the same, so losing is fine.
		if _, err := durable.Publish(name, []byte(layout)); err != nil {
			return err
		}
		b, err = durable.Read(name, 64)
	}
	if err != nil {
		return err
	}
	if string(b) != layout {
		return fmt.Errorf("its format is %q and this version knows only %q: use a newer paddock, or another state directory",
			strings.TrimSpace(string(b)), strings.TrimSpace(layout))
	}
	return nil
}

// refuseStrangers keeps a mistyped path, such as somebody's home, from being
// filled with ours. Temporary files are what a first caller's crash leaves.
func refuseStrangers(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if name != "format" && !strings.HasPrefix(name, durable.TempPrefix) {
			return fmt.Errorf("it holds %q and no format file: name a new or empty directory", name)
		}
	}
	return nil
}
