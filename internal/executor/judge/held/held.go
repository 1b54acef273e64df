// Package held remembers for a moment what the machine can hold.
//
// # Limits
//
// It is asked by who judges. Who starts finds out anew.
package held

import (
	"sync"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
)

// What was found of the machine's cgroups is believed for a while: lookAgain, and longer
// where nothing is wrong. It changes when somebody mounts or moves us, and to look takes as
// long as all else that a request is judged by. A run that was granted what can't be held
// any more isn't started; who mends something sees it at once.
const (
	lookAgain = time.Second
	longer    = 30 * time.Second
)

// Held is what was found, for each level.
type Held struct {
	mu    sync.Mutex
	found map[paddock.Level]holdable // guarded by mu
}

type holdable struct {
	names []string
	why   string
	at    time.Time
}

// At is [lifecycle.Holdable] as of now, or of a moment ago. The names aren't the
// caller's to change.
func (h *Held) At(level paddock.Level, now time.Time) (names []string, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.found[level]
	most := lookAgain
	if f.why == "" {
		most = longer
	}
	if ok && !now.Before(f.at) && now.Sub(f.at) < most {
		return f.names, f.why
	}
	f = holdable{at: now}
	f.names, f.why = lifecycle.Holdable(level)
	if h.found == nil {
		h.found = map[paddock.Level]holdable{}
	}
	h.found[level] = f
	return f.names, f.why
}
