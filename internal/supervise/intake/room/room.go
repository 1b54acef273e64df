// Package room says how much of what a program prints there is room for beside
// the caps of its streams: up to what is left free of the disk, and what a quota left.
//
// # Limits
//
// It keeps nothing and ends nothing: package supervise does, by what it is told.
// The disk is asked again and again and not held: what others write between two
// looks, a mebibyte or a fifth of a second apart, takes from the reserve.
package room

import (
	"sync"
	"time"

	"paddock"
	"paddock/internal/rundir/disk"
	"paddock/internal/rundir/record/durable/losses"
)

const (
	// most is how many bytes are let through before the disk is asked again, and
	// least how many if there is hardly room.
	most, least = 1 << 20, 4 << 10
	// fresh is how long an answer of the disk is believed.
	fresh = 200 * time.Millisecond
)

// A Room is that of one run; nil has room for all. Its methods may be called concurrently.
type Room struct {
	reserve int64
	free    func() (int64, error)
	now     func() time.Time

	mu    sync.Mutex
	asked time.Time
	left  int64 // until the disk is asked again
	full  map[paddock.Stream]*paddock.Reason
	quota int64 // what a quota left when the run began; zero means no quota
	by    string
	taken int64 // of the quota

	// noted is of how many streams it is written down that something was dropped,
	// and when last.
	noted   int
	notedAt time.Time
}

// New returns the Room of the run in dir, which leaves reserve bytes of the disk;
// zero asks nothing. free asks the disk; nil is the disk of dir.
func New(dir string, reserve int64, now func() time.Time, free func() (int64, error)) *Room {
	if free == nil {
		free = func() (int64, error) {
			free, _, err := disk.Free(dir)
			return free, err
		}
	}
	return &Room{reserve: reserve, now: now, free: free}
}

// Within has the Room be of most bytes for all streams together, which the quota by
// left; zero is no quota. It is called before anything is taken.
func (r *Room) Within(most int64, by string) *Room {
	r.quota, r.by = most, by
	return r
}

// Take returns how many of the next n bytes of s there is room for, and if not for
// all, why. Once there was none for some there never is again, so that what is
// kept has no holes.
func (r *Room) Take(s paddock.Stream, n int) (int, *paddock.Reason) {
	if r == nil || r.reserve <= 0 && r.quota <= 0 {
		return n, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.full[s]; why != nil {
		return 0, why
	}
	fits, why := r.ofQuota(s, n)
	if r.reserve > 0 {
		if free, less := r.ofDisk(s, fits); less != nil {
			fits, why = free, less
		}
	}
	r.taken += int64(fits)
	if why != nil {
		if r.full == nil {
			r.full = map[paddock.Stream]*paddock.Reason{}
		}
		r.full[s] = why
	}
	return fits, why
}

// Back gives back n bytes of what was taken, since they didn't come.
func (r *Room) Back(n int) {
	if r == nil || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= int64(n)
}

func (r *Room) ofQuota(s paddock.Stream, n int) (int, *paddock.Reason) {
	if left := r.quota - r.taken; r.quota > 0 && left < int64(n) {
		return int(left), &paddock.Reason{Kind: paddock.ReasonQuota, Stream: s, Limit: r.quota, Detail: "`quotas." + r.by + "`"}
	}
	return n, nil
}

func (r *Room) ofDisk(s paddock.Stream, n int) (int, *paddock.Reason) {
	now := r.now()
	if int64(n) > r.left || now.Sub(r.asked) > fresh || now.Before(r.asked) {
		free, err := r.free()
		if err != nil {
			return n, nil // the disk itself will say so
		}
		if room := free - r.reserve; room < int64(n) {
			return int(max(0, room)), &paddock.Reason{Kind: paddock.ReasonDiskReserve, Stream: s, Limit: r.reserve}
		}
		r.asked, r.left = now, max(int64(n), min(most, max(least, (free-r.reserve)/8)))
	}
	r.left -= int64(n)
	return n, nil
}

// noteEvery is how often it is written down how much is dropped.
const noteEvery = time.Second

// Note writes down in the run's dir what was dropped: when a stream begins to lose
// something, and once a second while it goes on. What can't be written down must
// end the run, or it would be lost in silence: then the reason comes back.
func (r *Room) Note(dir string, all []paddock.Loss) *paddock.Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if since := now.Sub(r.notedAt); len(all) == r.noted && since >= 0 && since < noteEvery {
		return nil
	}
	r.noted, r.notedAt = len(all), now
	if err := losses.Note(dir, all); err != nil {
		return &paddock.Reason{Kind: paddock.ReasonSink, Detail: "what was dropped can't be noted: " + err.Error()}
	}
	return nil
}
