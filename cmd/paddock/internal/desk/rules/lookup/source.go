package lookup

import (
	"bytes"
	"slices"
	"sync"

	"paddock"
	"paddock/internal/lineage"
	"paddock/internal/policy"
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
	problem *paddock.Refusal
	more    []policy.Source
	was     lineage.Last
}

// Trouble says what is wrong with the newest text while an earlier one holds.
func (s *Source) Trouble() *lineage.Trouble { return s.was.Trouble() }

// Load returns the policy that applies now, or says why there is none.
func (s *Source) Load() (*policy.Policy, *paddock.Refusal) {
	found, refusal := s.Places.Find()
	if refusal != nil {
		s.was.Forget()
		return nil, refusal
	}
	more := s.Places.Lineage.More(found.Path, found.data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || !slices.EqualFunc(s.more, more, policy.Source.Equal) || s.last.Path != found.Path || s.last.Kind != found.Kind || !bytes.Equal(s.last.data, found.data) {
		s.policy, s.problem = s.Places.compile(found, more)
		s.last, s.more, s.known = found, more, true
	}
	return s.was.Take(found.Path, found.data, more, s.policy, s.problem)
}
