// Package replay keeps what was said to clients for as long as they may come back and
// ask for what they missed of it.
//
// A stream is what one request was answered, or what a session was told besides. Of each
// session the latest streams are kept, and of those no more bytes than the bound: what
// is older goes first. What is gone is said to be gone; half of it is never given.
//
// # Limits
//
// What is kept is this process's, in memory. Which streams belong to whom is known by
// who asks: names of sessions are secrets here.
package replay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
)

// ErrGone is what is told of what isn't kept, or never was.
var ErrGone = errors.New("what was said there isn't kept any more")

// A Store keeps streams of sessions. It is what the library calls an event store.
type Store struct {
	bytes, streams int

	mu       sync.Mutex
	sessions map[string]*kept
}

// New returns a Store that keeps so many bytes, and so many streams, of each session.
func New(bytes, streams int) *Store {
	return &Store{bytes: bytes, streams: streams, sessions: map[string]*kept{}}
}

// kept are the streams of one session, the oldest first.
type kept struct {
	bytes   int
	streams []*stream
}

type stream struct {
	id     string
	first  int // the number of the first event that is kept
	events [][]byte
}

func (k *kept) find(id string) *stream {
	if at := slices.IndexFunc(k.streams, func(s *stream) bool { return s.id == id }); at >= 0 {
		return k.streams[at]
	}
	return nil
}

// Open begins a stream.
func (s *Store) Open(_ context.Context, session, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.sessions[session]
	if k == nil {
		k = &kept{}
		s.sessions[session] = k
	}
	if k.find(id) == nil {
		k.streams = append(k.streams, &stream{id: id})
	}
	for len(k.streams) > s.streams {
		k.drop(id)
	}
	return nil
}

// Append keeps an event. Of a stream that was dropped nothing is kept again, since its
// numbers would be wrong.
func (s *Store) Append(_ context.Context, session, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.sessions[session]
	if k == nil {
		return ErrGone
	}
	to := k.find(id)
	if to == nil {
		return ErrGone
	}
	to.events = append(to.events, data)
	k.bytes += len(data)
	for k.bytes > s.bytes && k.drop(id) {
	}
	for k.bytes > s.bytes {
		k.bytes -= len(to.events[0])
		to.events, to.first = to.events[1:], to.first+1
	}
	return nil
}

// drop forgets the oldest stream but that one, and but the one without a name, which
// lives as long as its session; false means that there is no other.
func (k *kept) drop(but string) bool {
	at := slices.IndexFunc(k.streams, func(s *stream) bool { return s.id != but && s.id != "" })
	if at < 0 {
		return false
	}
	for _, e := range k.streams[at].events {
		k.bytes -= len(e)
	}
	k.streams = slices.Delete(k.streams, at, at+1)
	return true
}

// After gives the events of a stream after one number, all of them or none.
func (s *Store) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	events, err := s.after(session, id, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *Store) after(session, id string, index int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.sessions[session]
	if k == nil {
		return nil, ErrGone
	}
	from := k.find(id)
	if from == nil || index+1 < from.first || index >= from.first+len(from.events) && index >= 0 {
		return nil, ErrGone
	}
	return slices.Clone(from.events[index+1-from.first:]), nil
}

// SessionClosed forgets a session.
func (s *Store) SessionClosed(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
	return nil
}
