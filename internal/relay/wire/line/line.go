// Package line is one connection, of which it is known when it is over, and which can
// be listened on as if it came in.
//
// # Limits
//
// What is said over it is others'.
package line

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
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

// Upgrade takes over the connection of a request, and answers that from here on protocol
// is spoken, which must have gone out within some time. After an error there is no
// connection any more, unless it couldn't be taken over.
func Upgrade(w http.ResponseWriter, protocol string, within time.Duration) (*Line, error) {
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	conn := Watch(raw)
	if buffered.Reader.Buffered() > 0 { // it speaks before its turn
		return nil, errors.Join(errors.New("another protocol is spoken"), conn.Close())
	}
	head := w.Header().Clone()
	head.Set("Connection", "Upgrade")
	head.Set("Upgrade", protocol)
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = head.Write(&b) // to memory
	b.WriteString("\r\n")
	err = errors.Join(conn.SetDeadline(time.Time{}), conn.SetWriteDeadline(time.Now().Add(within)))
	if err == nil {
		_, err = conn.Write(b.Bytes())
	}
	if err = errors.Join(err, conn.SetDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
