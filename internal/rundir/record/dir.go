// Package record is the directory of one run: what was asked and decided, how it
// started, how it ended, and the lock that says whether somebody looks after it.
//
// # Limits
//
// It knows no other run and no state directory: package rundir decides where a
// directory is, who may count it and when it is found lost. It starts and
// signals nothing and reads no output but to digest what a vanished supervisor
// left. Linux only.
package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/rundir/record/durable/outcome/addenda"
	"paddock/internal/rundir/record/durable/sealed"
)

// A Dir is the directory of one run. One that was opened may be used by many
// goroutines; one that is being prepared belongs to who prepares it.
type Dir struct {
	id        paddock.RunID
	path      string
	lock      *os.File // nil unless this Dir was prepared here
	principal string   // its hash; empty unless prepared here
	published bool
	memory    sealed.Memory
	started   atomic.Pointer[Started]         // what was written, or read once by who remembers
	told      atomic.Pointer[paddock.Outcome] // by the run's supervisor, who wrote it down
}

// Open opens the run directory at path.
func Open(path string) (*Dir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("run directory %q isn't an absolute path", path)
	}
	id, err := paddock.ParseRunID(filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("run directory %s isn't a directory", path)
	}
	return &Dir{id: id, path: filepath.Clean(path), published: true}, nil
}

// ID returns the run's id.
func (d *Dir) ID() paddock.RunID { return d.id }

// Path returns where the directory is. Publishing changes it.
func (d *Dir) Path() string { return d.path }

// Lock returns the descriptor that holds the run's lock, for the supervisor to
// inherit; nil when this Dir was opened and not prepared, or let go of it.
func (d *Dir) Lock() *os.File { return d.lock }

// ReleaseLock closes our descriptor of the lock. The lock goes on for as long
// as a supervisor has the descriptor: it is closed and not unlocked, because
// unlocking would be for both. A child of ours that is between fork and exec has
// the descriptor too, so none is on its way meanwhile.
func (d *Dir) ReleaseLock() error {
	if d.lock == nil {
		return nil
	}
	f := d.lock
	d.lock = nil
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f.Close()
}

// Hold gives d the lock of its run, which was taken.
func (d *Dir) Hold(lock *os.File) { d.lock = lock }

// Abandon removes a directory that was prepared and will not be published, and
// its lock with it. On a published one it does nothing.
func (d *Dir) Abandon() error {
	if d.published {
		return nil
	}
	d.published = true // and so never twice
	// The lock is kept to the last, so that no sweeper comes in between.
	return errors.Join(os.RemoveAll(d.path), d.ReleaseLock())
}

// Token returns the secret by which this user's processes know each other on
// the run's control socket.
func (d *Dir) Token() (string, error) {
	name := d.file("token")
	b, err := durable.Read(name, 256)
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(b), "\n")
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("%s doesn't hold a token", name)
	}
	return token, nil
}

// OpenStdin opens the text that the program reads; fs.ErrNotExist when no text
// was given.
func (d *Dir) OpenStdin() (*os.File, error) { return durable.Open(d.file("stdin")) }

// OpenConnections opens the entries of the run's proxy, a JSON object a line;
// fs.ErrNotExist when the run had none.
func (d *Dir) OpenConnections() (*os.File, error) { return durable.Open(d.file("network.jsonl")) }

// Noted says whether the run's end, and all that became known of it later, is known
// to be in the journal. That it isn't known means nothing: a power cut may take the
// mark along.
func (d *Dir) Noted() (bool, error) { return addenda.Told(d.path) }

// MarkNoted notes that the run's end and so many addenda are in the journal.
func (d *Dir) MarkNoted(later int) error { return addenda.MarkTold(d.path, later) }

// Over says whether there is an outcome, without reading it.
func (d *Dir) Over() (bool, error) { return Settled(d.path) }

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// What follows is for package rundir alone, and so not among the methods that
// everybody has who holds a Dir.

// Settled says whether the directory at path has an outcome, without reading it.
func Settled(path string) (bool, error) { return outcome.Settled(path) }

// Move puts a prepared directory at path, where it is published.
func Move(d *Dir, path string) error {
	if err := os.Rename(d.path, path); err != nil {
		return err
	}
	d.path, d.published = path, true
	return nil
}

// Prepared says whether d was prepared here, is locked and isn't published.
func Prepared(d *Dir) bool { return !d.published && d.lock != nil }

// Principal returns the hash of who asked for a prepared run.
func Principal(d *Dir) string { return d.principal }

// EntryFile is where the text of the run's entries is.
func EntryFile(d *Dir) string { return d.file(links.Claim) }
