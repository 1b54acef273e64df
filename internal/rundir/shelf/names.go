package shelf

import (
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"paddock"
)

// Names remembers which runs directories have that are read again and again, as long as
// they don't change: a day that is over may have tens of thousands. Its methods may be
// called concurrently. The zero Names remembers nothing yet.
type Names struct {
	mu   sync.Mutex
	days map[string]*day // by directory; guarded by mu
	held int             // ids in all of them; guarded by mu
}

// A day is a directory that was read. Its ids are one text, smallest first, and all of
// one length, so that half a million of them are some megabytes.
type day struct {
	changed time.Time // the directory, when it was read; zero before the second time
	ids     string
	used    int // when it was of use last, as a count
}

const (
	// length is that of every id.
	length = 27
	// mostHeld bounds how many ids are remembered.
	mostHeld = 1 << 19
	// still is how long a directory must not have changed: a change shortly after
	// another may bear the same time.
	still = 2 * time.Second
)

// Newest is [Newest], and remembers what it read when it is asked for the second time.
func (n *Names) Newest(dir string, before paddock.RunID, most int) ([]paddock.RunID, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	changed := info.ModTime()
	ids, again, known := n.recall(dir, changed)
	if known {
		return pick(ids, before, most), nil
	}
	if !again || time.Since(changed) < still {
		return Newest(dir, before, most)
	}
	all, err := Newest(dir, "", math.MaxInt)
	if err != nil {
		return nil, err
	}
	if later, err := os.Stat(dir); err != nil || !later.ModTime().Equal(changed) {
		return Newest(dir, before, most)
	}
	slices.Reverse(all)
	var text strings.Builder
	for _, id := range all {
		text.WriteString(string(id))
	}
	n.remember(dir, changed, text.String())
	return pick(text.String(), before, most), nil
}

// recall returns the ids of a directory that hasn't changed, and else whether it was
// asked for before.
func (n *Names) recall(dir string, changed time.Time) (ids string, again, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.days[dir]
	if d == nil {
		if n.days == nil {
			n.days = map[string]*day{}
		}
		n.days[dir] = &day{}
		return "", false, false
	}
	d.used = n.turn()
	return d.ids, true, !d.changed.IsZero() && d.changed.Equal(changed)
}

// turn is larger than that of every day. The caller holds the mutex.
func (n *Names) turn() int {
	last := 0
	for _, d := range n.days {
		last = max(last, d.used)
	}
	return last + 1
}

// remember keeps the ids of a directory in the place of what was of use longest ago.
func (n *Names) remember(dir string, changed time.Time, ids string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.days[dir]; old != nil {
		n.held -= old.count()
	}
	now := &day{changed: changed, ids: ids, used: n.turn()}
	delete(n.days, dir)
	for n.held+now.count() > mostHeld && len(n.days) > 0 {
		oldest := ""
		for name, d := range n.days {
			if oldest == "" || d.used < n.days[oldest].used {
				oldest = name
			}
		}
		n.held -= n.days[oldest].count()
		delete(n.days, oldest)
	}
	if now.count() <= mostHeld {
		n.days[dir] = now
		n.held += now.count()
	}
}

func (d *day) count() int { return len(d.ids) / length }

// pick returns the up to most largest ids less than before, largest first.
func pick(ids string, before paddock.RunID, most int) []paddock.RunID {
	at := func(i int) paddock.RunID { return paddock.RunID(ids[i*length : (i+1)*length]) }
	end := len(ids) / length
	if before != "" {
		end = sort.Search(end, func(i int) bool { return at(i) >= before })
	}
	var picked []paddock.RunID
	for i := end - 1; i >= 0 && len(picked) < most; i-- {
		picked = append(picked, at(i))
	}
	return picked
}
