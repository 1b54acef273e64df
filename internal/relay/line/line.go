// Package line is one connection, of which it is known when it is over, and which can
// be listened on as if it came in.
//
// # Limits
//
// What is said over it is others'.
package line

import (
	"errors"
	"net"
	"sync"
)

// A Line is a connection that tells when it is closed, by whomever.
type Line struct {
	net.Conn
	// Gone is closed then.
	Gone chan struct{}
	once sync.Once
}

// Watch makes c one.
func Watch(c net.Conn) *Line { return &Line{Conn: c, Gone: make(chan struct{})} }

// Close closes it; again is nothing.
func (l *Line) Close() error {
	l.once.Do(func() { close(l.Gone) })
	err := l.Conn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Listen returns a listener that accepts l, once, and then waits for its end.
func (l *Line) Listen() net.Listener { return &single{line: l} }

type single struct {
	mu    sync.Mutex
	given bool
	line  *Line
}

func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	given := s.given
	s.given = true
	s.mu.Unlock()
	if !given {
		return s.line, nil
	}
	<-s.line.Gone
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return s.line.Close() }
func (s *single) Addr() net.Addr { return s.line.LocalAddr() }
