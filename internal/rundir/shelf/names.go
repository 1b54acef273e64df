package shelf

import (
	"errors"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
)

// Names remembers which runs directories have that are read again and again, as long as
// they don't change: a day may have tens of thousands. Its methods may be called
// concurrently. The zero Names remembers nothing yet.
type Names struct {
	mu   sync.Mutex
	days map[string]*day // by directory; guarded by mu
	held int             // ids in all of them; guarded by mu
	turn int             // of the latest use; guarded by mu

	reads atomic.Int64 // of directories, for tests
}

// A day is a directory that was read. Its ids are packed, smallest first, so that a
// million of them are some megabytes.
type day struct {
	changed time.Time // the directory, when it was read; zero if that was just then
	ids     []packed  // never changed
	used    int       // when it was of use last, as a count

	kinds sync.Mutex
	kind  []Kind // of each id; nil before one is known; guarded by kinds
}

// mostHeld bounds how many ids are remembered.
const mostHeld = 5 << 18 // a million, and a quarter

// Still says whether a directory that changed last at a time has not for so long that a
// change from now on will show: one shortly after another may bear the same time. File
// systems tell times to some milliseconds, but for those that tell whole seconds, or two.
func Still(changed, now time.Time) bool {
	least := 100 * time.Millisecond
	if changed.Nanosecond() == 0 {
		least = 2 * time.Second
	}
	return now.Sub(changed) >= least
}

// Newest is [Newest], and remembers what it read.
func (n *Names) Newest(dir string, before paddock.RunID, most int) ([]paddock.RunID, error) {
	d, err := n.whole(dir)
	if err != nil {
		return nil, err
	}
	var ids []paddock.RunID
	for i := d.end(before) - 1; i >= 0 && len(ids) < most; i-- {
		ids = append(ids, d.ids[i].id())
	}
	return ids, nil
}

// whole returns everything that a directory has now.
func (n *Names) whole(dir string) (*day, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	d := n.recall(dir)
	if info.ModTime().Equal(d.changed) {
		return d, nil
	}
	return n.read(dir, d)
}

// read reads a directory, of which before knows an earlier state, and remembers it. It is
// of use again only if it didn't change meanwhile or just before.
func (n *Names) read(dir string, before *day) (*day, error) {
	n.reads.Add(1)
	begun := time.Now()
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	now := &day{}
	if now.ids, err = all(dir); err != nil {
		return nil, err
	}
	now.take(before)
	if later, err := os.Stat(dir); err == nil && later.ModTime().Equal(info.ModTime()) && Still(info.ModTime(), begun) {
		now.changed = info.ModTime()
	}
	n.remember(dir, now)
	return now, nil
}

// all are the ids in a directory, smallest first.
func all(dir string) ([]packed, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	var ids []packed
	for err == nil {
		var names []string
		names, err = f.Readdirnames(4096)
		for _, name := range names {
			if id, ok := parse(name); ok {
				ids = append(ids, id)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(ids, packed.compare)
	return ids, nil
}

// recall returns what is remembered of a directory, which may be another by now or
// nothing.
func (n *Names) recall(dir string) *day {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.days[dir]
	if d == nil {
		return &day{}
	}
	n.turn++
	d.used = n.turn
	return d
}

// remember keeps what a directory has in the place of what was of use longest ago.
func (n *Names) remember(dir string, now *day) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.days[dir]; old != nil {
		n.held -= len(old.ids)
	}
	n.turn++
	now.used = n.turn
	delete(n.days, dir)
	for n.held+len(now.ids) > mostHeld && len(n.days) > 0 {
		oldest := ""
		for name, d := range n.days {
			if oldest == "" || d.used < n.days[oldest].used {
				oldest = name
			}
		}
		n.held -= len(n.days[oldest].ids)
		delete(n.days, oldest)
	}
	if len(now.ids) <= mostHeld {
		if n.days == nil {
			n.days = map[string]*day{}
		}
		n.days[dir] = now
		n.held += len(now.ids)
	}
}

// end is how many ids are less than before; all, when that is empty.
func (d *day) end(before paddock.RunID) int {
	if before == "" {
		return len(d.ids)
	}
	at := pack(before)
	return sort.Search(len(d.ids), func(i int) bool { return !d.ids[i].less(at) })
}
