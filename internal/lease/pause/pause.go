// Package pause is where runs are that a worker has and that wait for something before
// they start.
//
// # Limits
//
// What they wait for, and what becomes of them, is package lease's.
package pause

import (
	"context"
	"sync"
	"time"

	"paddock"
)

// Off says that somebody asked for the end of a run that waits.
type Off struct{ By, Why string }

func (o Off) Error() string { return "its end was asked for" }

// A Room has runs that wait. Its zero value is ready.
type Room struct {
	mu     sync.Mutex
	runs   map[paddock.RunID]context.CancelCauseFunc // guarded by mu
	closed bool                                      // guarded by mu
}

// Enter is for the time in which a run waits: until it is called off, which is the
// context's cause, the room is closed or too much time has passed.
func (r *Room) Enter(ctx context.Context, id paddock.RunID, most time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	limited, over := context.WithTimeout(ctx, most)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[paddock.RunID]context.CancelCauseFunc{}
	}
	r.runs[id] = cancel
	if r.closed {
		cancel(context.Canceled)
	}
	return limited, func() {
		over()
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, id)
	}
}

// Off calls a run off, if it is here.
func (r *Room) Off(id paddock.RunID, by, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.runs[id]; cancel != nil {
		cancel(Off{by, why})
	}
}

// Close calls off all, and who comes later.
func (r *Room) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, cancel := range r.runs {
		cancel(context.Canceled)
	}
}
