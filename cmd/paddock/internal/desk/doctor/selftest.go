package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

// A SelfTest knows whether the promises of a level hold here, by attempts that aren't
// older than fresh. Its methods may be called concurrently.
type SelfTest struct {
	d     commands
	life  context.Context // for attempts that nobody waits for
	mu    sync.Mutex
	known map[paddock.Level]*tested // guarded by mu
}

// fresh is how long what was found is believed: the kernel, and what holds programs
// beside us, changes seldom, and an attempt takes a good part of a second.
const fresh = 10 * time.Minute

type tested struct {
	mu    sync.Mutex
	at    time.Time
	err   error
	again bool // somebody attempts
}

// NewSelfTest returns one that hasn't attempted anything. Attempts end with ctx.
func NewSelfTest(ctx context.Context, at *desk.Desk) *SelfTest {
	return &SelfTest{d: commands{at, stage}, life: ctx, known: map[paddock.Level]*tested{}}
}

// Holds returns which promises of the level don't hold, as an error. Who asks first
// waits for the attempts; later ones are told what is known, and anything old is
// attempted again behind their backs.
func (s *SelfTest) Holds(level paddock.Level) error {
	s.mu.Lock()
	if s.known[level] == nil {
		s.known[level] = &tested{}
	}
	t := s.known[level]
	s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := s.d.Now(); {
	case t.at.IsZero():
		t.err, t.at = s.attempt(level), now
	case now.Sub(t.at) > fresh && !t.again:
		t.again = true
		go func() {
			err := s.attempt(level)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.err, t.at, t.again = err, s.d.Now(), false
		}()
	}
	return t.err
}

func (s *SelfTest) attempt(level paddock.Level) error {
	available, missing := s.d.Levels()
	r, err := s.d.exam(s.life, level, available, missing)
	switch {
	case err != nil:
		return err
	case r.Problem != "":
		return fmt.Errorf("level %s: %s", level, r.Problem)
	case r.Broken == 0:
		return nil
	}
	var broken []string
	for _, c := range r.Checks {
		if c.Broken {
			broken = append(broken, c.Check)
		}
	}
	return fmt.Errorf("at level %s these promises don't hold: %s; paddock doctor says what to do", level, strings.Join(broken, ", "))
}
