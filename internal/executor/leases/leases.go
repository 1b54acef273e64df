// Package leases knows which runs of a state directory are carried out for a lease, and
// until when those may go on of which this process is the worker.
//
//	STATE/leases/r…    a run that a worker claimed for a lease
//
// Times are of the machine's boot clock: see package deadman of internal/supervise.
//
// # Limits
//
// It renews nothing and ends nothing. An entry may outlive its run, and is removed by who
// holds the leases. Entries aren't synced: after a restart of the machine no run goes on.
package leases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock"
)

// Dir is where a state directory has them.
const Dir = "leases"

// ErrAnothers says that a run is leased, and not to this process.
var ErrAnothers = errors.New("the run is carried out for a lease, which its worker hasn't renewed")

// Leases are those of one state directory. Methods may be called concurrently.
type Leases struct {
	dir string

	mu    sync.Mutex
	until map[paddock.RunID]time.Duration // guarded by mu
}

// In is the Leases of the state directory at state.
func In(state string) *Leases {
	return &Leases{dir: filepath.Join(state, Dir), until: map[paddock.RunID]time.Duration{}}
}

// Take notes that the run is to be carried out for a lease which lasts until then.
func (l *Leases) Take(id paddock.RunID, until time.Duration) error {
	if err := os.Mkdir(l.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("lease of run %s: %w", id, err)
	}
	f, err := os.OpenFile(l.file(id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("lease of run %s: %w", id, err)
	}
	l.Extend(id, until)
	return nil
}

// mostKept is how long a text may be that is kept with a lease.
const mostKept = 256

// Keep keeps a short text with the lease of a run, for the next process that has it; an
// empty one takes it away.
func (l *Leases) Keep(id paddock.RunID, text string) error {
	f, err := os.OpenFile(l.file(id), os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.WriteString(text[:min(len(text), mostKept)])
		err = errors.Join(err, f.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is over
	}
	return err
}

// Kept is the text that is kept with a run's lease, if any is.
func (l *Leases) Kept(id paddock.RunID) string {
	f, err := os.Open(l.file(id))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostKept))
	if err != nil {
		return ""
	}
	return string(text)
}

// Extend lets a run of this process go on until then.
func (l *Leases) Extend(id paddock.RunID, until time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[id] = max(l.until[id], until)
}

// Until is when the run's lease ends, for its supervisor; zero is a run that isn't
// leased. ErrAnothers says that this process may not start it.
func (l *Leases) Until(id paddock.RunID) (int64, error) {
	if until, ours := l.ours(id); ours {
		return int64(until), nil
	}
	if leased, err := l.leased(id); err != nil || !leased {
		return 0, err
	}
	return 0, ErrAnothers
}

// Anothers reports whether the run is leased and not to this process.
func (l *Leases) Anothers(id paddock.RunID) bool {
	_, err := l.Until(id)
	return err != nil
}

// Ours reports whether it is this process that has the lease.
func (l *Leases) Ours(id paddock.RunID) bool {
	_, ours := l.ours(id)
	return ours
}

// Named is the run, if it is this process that has the lease.
func (l *Leases) Named(id paddock.RunID) paddock.RunID {
	if !l.Ours(id) {
		return ""
	}
	return id
}

// Held is Until. A run that was begun for a lease, which is the one that is named then,
// isn't started without: what ended it meanwhile took that away, and nobody would end it.
func (l *Leases) Held(id, begun paddock.RunID) (int64, error) {
	if begun != "" && !l.Ours(id) {
		return 0, errors.New("the lease for which it was begun is gone")
	}
	return l.Until(id)
}

// All are the runs that have entries.
func (l *Leases) All() ([]paddock.RunID, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []paddock.RunID
	for _, e := range entries {
		if id, err := paddock.ParseRunID(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Drop removes the entry of a run that is over, or never came to be.
func (l *Leases) Drop(id paddock.RunID) error {
	l.mu.Lock()
	delete(l.until, id)
	l.mu.Unlock()
	if err := os.Remove(l.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l *Leases) ours(id paddock.RunID) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ours := l.until[id]
	return until, ours
}

func (l *Leases) leased(id paddock.RunID) (bool, error) {
	_, err := os.Lstat(l.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (l *Leases) file(id paddock.RunID) string { return filepath.Join(l.dir, string(id)) }
