package egress

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"

	"paddock/internal/egress/hello"
	"paddock/internal/egress/host"
	"paddock/internal/egress/relay"
)

// tlsPort is the port on which a tunnel must begin with TLS. On others it may
// be anything (SSH, say), but if it begins like TLS it is held to it.
const tlsPort = 443

// unrecognizedName is the fatal TLS alert 112, so that a client shows more than
// a broken connection.
var unrecognizedName = []byte{0x15, 3, 3, 0, 2, 2, 112}

// tunnel passes bytes between the client and upstream until both are done.
func (c *client) tunnel(ctx context.Context, up *relay.Metered) *denial {
	if i, ok := c.inject[Rule{Host: c.entry.Host, Port: c.entry.Port}]; ok {
		return c.terminate(ctx, up, i)
	}
	strict := c.entry.Port == tlsPort
	if !strict {
		c.talk()
	}
	var down sync.WaitGroup
	defer down.Wait()
	answers := func() { c.pass(up, c.conn, up) }
	if !strict {
		down.Go(answers) // in some protocols the server speaks first
	}
	first, d := c.sniff(strict)
	if d != nil {
		up.Conn.Close()
		if _, err := c.conn.Write(unrecognizedName); err == nil {
			relay.Linger(c.conn)
		}
		c.hangUp(up)
		return d
	}
	c.talk()
	if strict {
		down.Go(answers)
	}
	if _, err := up.Write(first); err != nil {
		c.hangUp(up)
		return nil
	}
	c.pass(up, up, c.r)
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

// pass copies one direction; unless it ends as it should, both end.
func (c *client) pass(up *relay.Metered, to io.Writer, from io.Reader) {
	if !relay.Pass(to, from) {
		c.hangUp(up)
	}
}

func (c *client) hangUp(up *relay.Metered) {
	up.Conn.Close()
	c.conn.Close()
}
