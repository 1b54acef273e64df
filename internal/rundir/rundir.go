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
//
// A run's directory holds request.json, decision.json, claim.json, token,
// lock, stdin (if text was given), control (a socket), started.json, stdout,
// stderr, frames and, when the run is over, outcome.json. It is made in
// STATE/tmp, locked, and renamed into place; the locked descriptor goes to the
// supervisor, so that the lock is free only when nobody looks after the run.
// The entries in active, unseen and keys are hard links to its claim.json, so
// they appear whole or not at all. outcome.json is linked into place, so the
// first one wins and none is ever replaced.
//
// # Limits
//
// The package starts and signals nothing, judges no request and reads no
// output but to digest what a vanished supervisor left. It trusts the state
// directory's owner, whom it checks: a program that runs uncontained as the
// same user can change what is written here. Linux only.
package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/rundir/disk"
	"paddock/internal/rundir/durable"
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
)

// A State is an open state directory. Its methods may be called concurrently,
// and by as many processes as like. The zero State is unusable; see [Open].
type State struct {
	path  string
	turn  chan struct{} // holds one token: the goroutine that may try for claim.lock
	claim *os.File      // claim.lock

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
	for _, name := range []string{runsDir, activeDir, unseenDir, keysDir, tmpDir, homesDir} {
		if err := durable.MakeDir(filepath.Join(real, name)); err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
	}
	claim, err := os.OpenFile(filepath.Join(real, "claim.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
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
	home := filepath.Join(s.path, homesDir, hashOf(root))
	if err := durable.MakeDir(home); err != nil {
		return "", err
	}
	return home, nil
}

// Run returns the directory of a run; the error is fs.ErrNotExist when there
// is none, also when id isn't an id at all.
func (s *State) Run(id paddock.RunID) (*Dir, error) {
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %v", fs.ErrNotExist, err)
	}
	return OpenRun(s.runPath(id))
}

// runPath is where the run's directory is once it is published.
func (s *State) runPath(id paddock.RunID) string {
	return filepath.Join(s.path, runsDir, dayOf(id), string(id))
}

func (s *State) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

const dayForm = "20060102"

func dayOf(id paddock.RunID) string { return id.Time().Format(dayForm) }

// hashOf names something in the state directory by what it stands for. The
// parts are separated by NUL, which none of them may contain.
func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func principalHash(p paddock.Principal) string { return hashOf(string(p.Kind), p.ID) }

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
