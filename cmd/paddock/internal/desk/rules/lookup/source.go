package lookup

import (
	"bytes"
	"slices"
	"sync"

	"paddock/internal/lineage"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A Source looks the policy up for every request, so that what an operator
// changes, trusts or takes away counts from the next request on; while a change has
// errors, what was said before holds. It compiles
// only what differs from the last time. The zero Source finds no policy. It is
// safe for concurrent use.
type Source struct {
	Places Places

	mu      sync.Mutex // guards all below
	last    Found
	known   bool
	policy  *policy.Policy
	problem error
	more    []policy.Source
	was     lineage.Last
}

// Trouble says what is wrong with the newest text while an earlier one holds.
func (s *Source) Trouble() *lineage.Trouble { return s.was.Trouble() }

// Load returns the policy that applies now, or says why there is none.
func (s *Source) Load() (*policy.Policy, error) {
	found, err := s.Places.Find()
	if trust.Fault(err) {
		return nil, err // which says nothing of the policy
	}
	if err != nil {
		s.was.Forget()
		return nil, err
	}
	more, err := s.Places.Lineage.Read(found.Path, found.data)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || !slices.EqualFunc(s.more, more, policy.Source.Equal) || s.last.Path != found.Path || s.last.Kind != found.Kind || !bytes.Equal(s.last.data, found.data) {
		s.policy, s.problem = s.Places.compile(found, more)
		s.last, s.more, s.known = found, more, true
	}
	return s.was.Take(found.Path, found.data, more, s.policy, s.problem)
}
