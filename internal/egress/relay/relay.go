// Package relay moves bytes between two connections: counted, bounded in
// memory, the end of each direction passed on by itself.
//
// # Limits
//
// It doesn't look at what passes, and doesn't decide when a connection has been
// idle for too long: it tells.
package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	copyBytes   = 64 << 10
	lingerBytes = 256 << 10
	lingerTime  = time.Second
)

var buffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// A Metered is a connection on which all that passes is counted, and keeps it
// from being idle.
type Metered struct {
	net.Conn
	out, in atomic.Int64
	timer   *time.Timer
	limit   time.Duration
}

// Meter takes conn over and calls idle, once, when nothing has moved for limit.
func Meter(conn net.Conn, limit time.Duration, idle func()) *Metered {
	return &Metered{Conn: conn, limit: limit, timer: time.AfterFunc(limit, idle)}
}

// Counts returns the bytes written and read so far.
func (m *Metered) Counts() (out, in int64) { return m.out.Load(), m.in.Load() }

// Read reads from the connection.
func (m *Metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.moved(&m.in, n)
	return n, err
}

// Write writes to the connection.
func (m *Metered) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.moved(&m.out, n)
	return n, err
}

func (m *Metered) moved(counter *atomic.Int64, n int) {
	// A timer that has been stopped or has fired stays so: whoever is told
	// that the connection is idle closes it.
	if n > 0 {
		counter.Add(int64(n))
		if m.timer.Stop() {
			m.timer.Reset(m.limit)
		}
	}
}

// Close closes the connection and ends the watch.
func (m *Metered) Close() error {
	m.timer.Stop()
	return m.Conn.Close()
}

// Release closes the connection, whose use is over.
func (m *Metered) Release() {
	m.timer.Stop()
	m.Conn.Close()
}

// CloseWrite ends one direction of the connection.
func (m *Metered) CloseWrite() error { return CloseWrite(m.Conn) }

// Rejoin returns conn as it was before r had read a beginning of it.
func Rejoin(conn net.Conn, r io.Reader) net.Conn { return &rejoined{conn, r} }

type rejoined struct {
	net.Conn
	r io.Reader
}

func (c *rejoined) Read(p []byte) (int, error) { return c.r.Read(p) }
func (c *rejoined) CloseWrite() error          { return CloseWrite(c.Conn) }

// CloseWrite ends one direction of a connection that can.
func CloseWrite(w io.Writer) error {
	half, ok := w.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Pass copies from one connection to the other. The end of from is passed on as
// an end and leaves the other direction alone; then it returns true. Anything
// worse returns false, and both connections should be closed.
func Pass(to io.Writer, from io.Reader) bool {
	buf, ok := buffers.Get().(*[copyBytes]byte)
	if !ok {
		buf = new([copyBytes]byte)
	}
	defer buffers.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return CloseWrite(to) == nil
		}
		if err != nil {
			return false
		}
	}
}

// Linger lets a peer read a last answer before conn is closed: bytes of the
// peer's that nobody has read would make the system throw the answer away.
func Linger(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(lingerTime))
	if CloseWrite(conn) != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, conn, lingerBytes); err != nil {
		return // the end of its bytes, or of our patience
	}
}
