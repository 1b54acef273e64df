package writer

import (
	"os"
	"sync"
)

// syncing makes lines durable, for all who wait with one request to the disk.
// Who wrote lines has a ticket; tickets are served in order.
type syncing struct {
	mu      sync.Mutex
	wake    *sync.Cond
	file    *os.File // the segment with the newest lines
	written int64    // the newest ticket
	durable int64    // all up to here are served
	// failedFrom to failed are those for which the disk refused, which it tells
	// only once: who waits must not ask again and be told that all is well.
	failedFrom, failed int64
	why                error
	busy               bool       // somebody asks the disk
	retired            []*os.File // to be closed once nobody does
}

func (s *syncing) wrote(file *os.File) (ticket int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	s.file = file
	return s.written
}

// done notes that everything that is written is durable.
func (s *syncing) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durable = s.written
	s.wake.Broadcast()
}

// retire closes a segment that gets no more lines from us.
func (s *syncing) retire(file *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = append(s.retired, file)
	s.closeRetired()
}

func (s *syncing) closeRetired() {
	if s.busy {
		return
	}
	for _, file := range s.retired {
		_ = file.Close() // everything in it was asked for already
	}
	s.retired = nil
}

// flush makes everything durable that is written. If that can't be, those who
// wait for it are told.
func (s *syncing) flush() {
	s.mu.Lock()
	last := s.written
	s.mu.Unlock()
	_ = s.wait(last, func(string) error { return nil })
}

// wait returns when the ticket is served. Whoever finds nobody asking the disk
// asks for all that is written by then.
func (s *syncing) wait(ticket int64, step func(string) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if ticket >= s.failedFrom && ticket <= s.failed {
			return s.why
		}
		if ticket <= s.durable {
			return nil
		}
		if s.busy {
			s.wake.Wait()
			continue
		}
		upTo, file := s.written, s.file
		s.busy = true
		s.mu.Unlock()
		err := step("sync")
		if err == nil {
			err = file.Sync()
		}
		s.mu.Lock()
		s.busy = false
		s.closeRetired()
		if err != nil {
			s.failedFrom, s.failed, s.why = s.durable+1, upTo, err
		} else {
			s.durable = max(s.durable, upTo)
		}
		s.wake.Broadcast()
	}
}
