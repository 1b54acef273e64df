package egress

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"paddock/internal/egress/hello"
	"paddock/internal/egress/host"
)

// tlsPort is the port on which a tunnel must begin with TLS. On others it may
// be anything (SSH, say), but if it begins like TLS it is held to it.
const tlsPort = 443

const (
	copyBytes   = 64 << 10
	lingerBytes = 256 << 10
	lingerTime  = time.Second
)

var buffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// unrecognizedName is the fatal TLS alert 112, so that a client shows more than
// a broken connection.
var unrecognizedName = []byte{0x15, 3, 3, 0, 2, 2, 112}

// tunnel passes bytes between the client and upstream until both are done.
func (c *client) tunnel(up *upstream) *denial {
	if i, ok := c.inject[c.entry.Host]; ok && c.entry.Port == tlsPort {
		return c.terminate(up, i)
	}
	strict := c.entry.Port == tlsPort
	if !strict {
		c.talk()
	}
	var down sync.WaitGroup
	defer down.Wait()
	answers := func() { c.pass(c.conn, up, up) }
	if !strict {
		down.Go(answers) // in some protocols the server speaks first
	}
	first, d := c.sniff(strict)
	if d != nil {
		up.Conn.Close()
		if _, err := c.conn.Write(unrecognizedName); err == nil {
			c.linger()
		}
		c.conn.Close()
		return d
	}
	c.talk()
	if strict {
		down.Go(answers)
	}
	if _, err := up.Write(first); err != nil {
		up.Conn.Close()
		c.conn.Close()
		return nil
	}
	c.pass(up, c.r, up)
	return nil
}

// sniff reads the beginning of a tunnel as far as is needed to know whether it
// is TLS, and for whom.
func (c *client) sniff(strict bool) ([]byte, *denial) {
	b, err := c.r.Peek(1)
	switch {
	case errors.Is(err, io.EOF) || err != nil && !strict:
		return nil, nil // nothing is said; passing on will find the same
	case err != nil:
		return nil, c.unread(TLSRequired, err)
	case b[0] != hello.First && strict:
		return nil, refused(TLSRequired, "a tunnel to port %d begins with TLS; this one doesn't", tlsPort)
	case b[0] != hello.First:
		return nil, nil
	}
	c.handshake()
	raw, name, err := hello.Read(c.r)
	if err != nil {
		return nil, c.unread(NameMismatch, err)
	}
	return raw, c.checkName(name)
}

// checkName compares a TLS server name with the host that was asked for.
func (c *client) checkName(name string) *denial {
	_, err := netip.ParseAddr(c.entry.Host)
	if name == "" && err == nil {
		return nil // TLS has no server name for addresses
	}
	if name == "" {
		return refused(NameMismatch, "TLS to %s names no server", c.entry.Host)
	}
	if n, err := host.Normalise(name); err != nil || n != c.entry.Host {
		return refused(NameMismatch, "TLS asks for %s where %s was asked for", host.Quote(name), c.entry.Host)
	}
	return nil
}

// pass copies one direction. The end of it is passed on as an end, while the
// other direction goes on; anything worse ends both.
func (c *client) pass(to io.Writer, from io.Reader, up *upstream) {
	buf, ok := buffers.Get().(*[copyBytes]byte)
	if !ok {
		buf = new([copyBytes]byte)
	}
	defer buffers.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) && closeWrite(to) == nil {
			return
		}
		if err != nil {
			break
		}
	}
	up.Conn.Close()
	c.conn.Close()
}

// closeWrite ends one direction of a connection that can.
func closeWrite(w io.Writer) error {
	half, ok := w.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// linger lets the client read an answer before the connection is closed: bytes
// of its that nobody has read would make the system throw the answer away.
func (c *client) linger() {
	c.conn.SetDeadline(time.Now().Add(lingerTime))
	if closeWrite(c.conn) != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, c.conn, lingerBytes); err != nil {
		return // the end of its bytes, or of our patience
	}
}

// Answers go through the client's own connection; net.Conn is enough.
var _ net.Conn = (*upstream)(nil)
