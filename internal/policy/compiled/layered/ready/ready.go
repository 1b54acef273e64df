// Package ready keeps what was made of a policy and certain of its parts, since the
// same few parts hold for request after request.
//
// # Limits
//
// It doesn't know what it keeps, and forgets all of it when there is too much.
package ready

import "sync"

// mostReady bounds what is kept ready; each principal meets few.
const mostReady = 256

// Ready keeps what was made of a policy and certain of its parts. The zero value
// is ready for use, by several at once.
type Ready[T any] struct {
	mu   sync.Mutex
	made map[string]*T
}

// Get returns what was made of the parts; nil if that isn't there any more.
func (r *Ready[T]) Get(parts string) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[parts]
}

// Put keeps what was made of the parts.
func (r *Ready[T]) Put(parts string, made *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil || len(r.made) >= mostReady {
		r.made = map[string]*T{}
	}
	r.made[parts] = made
}
