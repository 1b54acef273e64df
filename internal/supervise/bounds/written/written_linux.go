// Package written measures what a run writes to disks.
//
// The kernel counts for each process what it made dirty, and for a parent what
// its children did that it has waited for. That misses room which is taken
// without writing, files in memory, and children that nobody we may look at has
// waited for. So the free room of the file systems that the run can write to is
// watched too: when it has shrunk by more than the limit, what the run holds
// there is added up.
//
// # Limits
//
// It measures; nothing is held back, and between two looks a run goes as far as
// its disk is fast. What the run holds is told from what others do by the time at
// which files changed, in the places that were named only.
package written

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/lifecycle/resource/counts"
)

const (
	// fast is more than disks write in a second, so that half of what is left is
	// seen in time; soonest and latest bound the time between two looks.
	fast    = 2 << 30
	soonest = 20 * time.Millisecond
	latest  = time.Second
	// addEvery is how often what is held is added up, of mostFiles at most.
	addEvery  = 2 * time.Second
	mostFiles = 200_000
)

// A Watch measures one run. It is used by one goroutine.
type Watch struct {
	limit int64
	since time.Time
	disks map[uint64]*disk
	last  int64         // what the last look found
	wait  time.Duration // until the next
}

// A disk is a file system that the run can write to.
type disk struct {
	paths []string
	free  int64     // at the start
	added time.Time // when what is held was last added up
}

// shrunk tells whether it has lost more than limit of its free room.
func (d *disk) shrunk(limit int64) bool {
	now, endless := free(d.paths[0])
	return endless || d.free-now > limit
}

// New begins to watch a run that may write limit bytes in all and files at paths.
func New(limit int64, paths []string, now time.Time) *Watch {
	w := &Watch{limit: limit, since: now.Add(-time.Second), disks: map[uint64]*disk{}} // clocks of file systems are coarse
	for _, path := range paths {
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil {
			continue // then nothing can be written there
		}
		if w.disks[st.Dev] == nil {
			room, _ := free(path)
			w.disks[st.Dev] = &disk{free: room}
		}
		w.disks[st.Dev].paths = append(w.disks[st.Dev].paths, path)
	}
	w.pace(0)
	return w
}

// Next is how long to wait before the next look: less the nearer the limit is,
// and longer when the run doesn't write.
func (w *Watch) Next() time.Duration { return w.wait }

func (w *Watch) pace(found int64) {
	near := time.Duration(float64(w.limit-found) / (2 * fast) * float64(time.Second))
	if found == w.last {
		near = max(near, 2*w.wait)
	}
	w.last, w.wait = found, min(max(near, soonest), latest)
}

// Look returns how much the tree below the process holder has written, or holds
// of the disks, whichever is more.
func (w *Watch) Look(holder int, now time.Time) (int64, error) {
	pids := tree(holder)
	found, err := counts.Written(pids)
	if err != nil {
		return 0, err
	}
	for dev, d := range w.disks {
		if !d.shrunk(w.limit) || now.Sub(d.added) < addEvery {
			continue
		}
		d.added = now
		found = max(found, w.held(dev, d.paths, pids))
	}
	w.pace(found)
	return found, nil
}

// free is the free room where path is, unless nothing bounds it.
func free(path string) (room int64, endless bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil || st.Blocks == 0 {
		return 0, true
	}
	return int64(st.Bfree) * st.Bsize, false
}

// held adds up the files of a disk that changed since the run began, and those
// that it has open and that have no name any more.
func (w *Watch) held(dev uint64, paths []string, pids []int) (sum int64) {
	seen, files := map[uint64]bool{}, 0
	add := func(st *unix.Stat_t) {
		if st.Dev == dev && st.Mode&unix.S_IFMT == unix.S_IFREG && !seen[st.Ino] && !time.Unix(st.Ctim.Unix()).Before(w.since) {
			seen[st.Ino] = true
			sum += st.Blocks * 512
		}
	}
	for _, path := range paths {
		// What can't be looked at counts nothing, and neither does what is gone.
		_ = filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err != nil || unix.Lstat(at, &st) != nil {
				return nil //nolint:nilerr // see above
			}
			if files++; files > mostFiles {
				return fs.SkipAll
			}
			if st.Dev != dev && st.Mode&unix.S_IFMT == unix.S_IFDIR {
				return fs.SkipDir
			}
			add(&st)
			return nil
		})
	}
	for _, pid := range pids {
		open, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*") // a process may be gone
		for _, at := range open {
			var st unix.Stat_t
			if unix.Stat(at, &st) == nil && st.Nlink == 0 {
				add(&st)
			}
		}
	}
	return sum
}

// tree lists a process and all below it.
func tree(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks := "/proc/" + strconv.Itoa(pids[i]) + "/task/"
		threads, err := os.ReadDir(tasks)
		if err != nil {
			continue // it is gone, and so are its children from below it
		}
		for _, thread := range threads {
			children, err := os.ReadFile(tasks + thread.Name() + "/children")
			if err != nil {
				continue
			}
			for word := range strings.FieldsSeq(string(children)) {
				if child, err := strconv.Atoi(word); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}
