package lookup

import (
	"bytes"
	"sync"

	"paddock/internal/policy"
)

// A Source looks the policy up for every request, so that what an operator
// changes, trusts or takes away counts from the next request on. It compiles
// only what differs from the last time. The zero Source finds no policy. It is
// safe for concurrent use.
type Source struct {
	Places Places

	mu      sync.Mutex // guards all below
	last    Found
	known   bool
	policy  *policy.Policy
	problem error
}

// Load returns the policy that applies now, or says why there is none.
func (s *Source) Load() (*policy.Policy, error) {
	found, err := s.Places.Find()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || s.last.Path != found.Path || s.last.Kind != found.Kind || !bytes.Equal(s.last.data, found.data) {
		s.policy, s.problem = s.Places.compile(found)
		s.last, s.known = found, true
	}
	return s.policy, s.problem
}
