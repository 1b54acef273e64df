package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"paddock/internal/egress/host"
)

// maxTries bounds how many addresses of one name are tried.
const maxTries = 8

// listed tells whether a rule names the host with the port.
func (p *Proxy) listed(name string, port int) bool {
	return slices.ContainsFunc(p.cfg.Rules, func(r Rule) bool { return r.Matches(name, port) })
}

// open judges what the client asked for and connects to it. What it returns is
// connected to an address that was judged.
func (c *client) open() (*upstream, *denial) {
	name, port := c.entry.Host, c.entry.Port
	if !c.listed(name, port) {
		return nil, refused(NotListed, "%s isn't in the policy's network list", Rule{Host: name, Port: port})
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Limits.Connect)
	defer cancel()
	addrs, d := c.resolve(ctx, name)
	if d != nil {
		return nil, d
	}
	addrs, d = c.judge(addrs)
	if d != nil {
		return nil, d
	}
	conn, d := c.dial(ctx, addrs)
	if d != nil {
		return nil, d
	}
	return newUpstream(c, conn), nil
}

// resolve looks the name up, once for the whole connection.
func (c *client) resolve(ctx context.Context, name string) ([]netip.Addr, *denial) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := c.cfg.Resolve(ctx, name)
	if err == nil && len(addrs) == 0 {
		err = errors.New("it has no address")
	}
	if err != nil {
		return nil, failed(ResolveFailed, "the name %s couldn't be resolved: %v", name, err)
	}
	return addrs, nil
}

// judge leaves the addresses that may be connected to. An address that isn't of
// the public Internet is only reached if it is itself listed with this port:
// what a listed name resolves to is chosen by whoever holds the name.
func (c *client) judge(addrs []netip.Addr) ([]netip.Addr, *denial) {
	var good []netip.Addr
	var why *denial
	for _, addr := range addrs {
		addr = addr.Unmap()
		if what := host.Special(addr); what != "" && !c.listed(addr.String(), c.entry.Port) {
			why = refused(AddressRefused, "%s is at %s, %s; such an address must be in the network list itself", c.entry.Host, addr, what)
			continue
		}
		good = append(good, addr)
	}
	if len(good) == 0 {
		return nil, why
	}
	return good[:min(len(good), maxTries)], nil
}

// dial connects to the first address that answers.
func (c *client) dial(ctx context.Context, addrs []netip.Addr) (net.Conn, *denial) {
	var last error
	for i, addr := range addrs {
		to := netip.AddrPortFrom(addr, uint16(c.entry.Port))
		try, cancel := c.share(ctx, len(addrs)-i)
		conn, err := c.cfg.Dial(try, to)
		cancel()
		if err == nil {
			c.entry.Address = to.String()
			return conn, nil
		}
		last = err
	}
	return nil, failed(ConnectFailed, "%s:%d couldn't be connected to: %v", c.entry.Host, c.entry.Port, last)
}

// share gives the next address its part of the time that is left, so that one
// that doesn't answer can't use up the time of those after it.
func (c *client) share(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
}

// An upstream is the connection to what was asked for. All that passes is
// counted here, and keeps the connection from being idle.
type upstream struct {
	net.Conn
	out, in atomic.Int64
	idle    *time.Timer
	limit   time.Duration
	stop    func() bool
}

func newUpstream(c *client, conn net.Conn) *upstream {
	return &upstream{
		Conn: conn, limit: c.cfg.Limits.Idle,
		idle: time.AfterFunc(c.cfg.Limits.Idle, func() { c.cancel(errIdle) }),
		stop: context.AfterFunc(c.ctx, func() { conn.Close() }),
	}
}

func (u *upstream) close() {
	u.idle.Stop()
	u.stop()
	u.Conn.Close()
}

func (u *upstream) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	if n > 0 {
		u.in.Add(int64(n))
		u.idle.Reset(u.limit)
	}
	return n, err
}

func (u *upstream) Write(b []byte) (int, error) {
	n, err := u.Conn.Write(b)
	if n > 0 {
		u.out.Add(int64(n))
		u.idle.Reset(u.limit)
	}
	return n, err
}

// CloseWrite tells the other side that nothing more comes.
func (u *upstream) CloseWrite() error { return closeWrite(u.Conn) }
