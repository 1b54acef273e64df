package shelf

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
)

// mostRecords bounds how many records are remembered: the pages that are asked for again
// and again, in some megabytes.
const mostRecords = 1000

// mostCopies is how many are asked for at once.
const mostCopies = 200

// records are those of runs that are over, which are read again when something about them
// may have changed: whatever adds to such a run or takes from it changes its directory.
type records struct {
	mu         sync.Mutex
	young, old map[string]known // by directory; guarded by mu

	reads atomic.Int64 // of records, for tests
}

type known struct {
	changed time.Time // the run's directory
	run     paddock.Run
}

// copied are those of some runs in a directory that aren't remembered, and then are.
func (r *records) copied(dir string, ids []paddock.RunID, copies Copies) map[paddock.RunID]*paddock.Run {
	if copies == nil {
		return nil
	}
	var seen []Seen
	for _, id := range ids {
		path := filepath.Join(dir, string(id))
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue // who reads it says what that means
		}
		if k, ok := r.recall(path); !ok || !info.ModTime().Equal(k.changed) {
			seen = append(seen, Seen{id, info.ModTime()})
		}
	}
	all := map[paddock.RunID]*paddock.Run{}
	for some := range slices.Chunk(seen, mostCopies) {
		found := copies.Of(some)
		for _, s := range some {
			if run := found[s.ID]; run != nil && run.ID == s.ID && fixed(*run) {
				all[s.ID] = run
				r.remember(filepath.Join(dir, string(s.ID)), known{s.Changed, *run})
			}
		}
	}
	return all
}

// of is the run in a directory as look reads it, or as it was read before. What is read
// and can be remembered is given to copies, unless that is nil.
func (r *records) of(path string, look func(string) (*paddock.Run, error), copies Copies) (*paddock.Run, error) {
	begun := time.Now()
	info, err := os.Lstat(path)
	if err != nil {
		return look(path) // which says what that means
	}
	if k, ok := r.recall(path); ok && info.IsDir() && info.ModTime().Equal(k.changed) {
		return &k.run, nil
	}
	r.reads.Add(1)
	run, err := look(path)
	if err == nil && run != nil && fixed(*run) && Still(info.ModTime(), begun) {
		r.remember(path, known{info.ModTime(), *run})
		if copies != nil {
			copies.Take(Seen{run.ID, info.ModTime()}, run)
		}
	}
	return run, err
}

// fixed says whether nothing is written into files of the run any more that are there
// already, as deeds are: that would change no directory.
func fixed(run paddock.Run) bool {
	return run.State.Settled() && run.State != paddock.Lost && len(run.Deeds) == 0
}

func (r *records) recall(path string) (known, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.young[path]
	if !ok {
		if k, ok = r.old[path]; ok {
			r.put(path, k)
		}
	}
	return k, ok
}

func (r *records) remember(path string, k known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(path, k)
}

// put makes one the latest of use. Half of what may be remembered is what was of use
// since the other half was full; that one is let go of as a whole. The caller holds the mutex.
func (r *records) put(path string, k known) {
	if r.young == nil || len(r.young) >= mostRecords/2 {
		r.young, r.old = map[string]known{}, r.young
	}
	r.young[path] = k
	delete(r.old, path)
}
