package egress

import (
	"context"
	"errors"
	"io"

	"paddock/internal/egress/host"
	"paddock/internal/egress/relay"
	"paddock/internal/egress/socks"
)

func (c *client) serveSOCKS(ctx context.Context) {
	c.entry.Protocol = "socks5"
	if err := socks.Negotiate(struct {
		io.Reader
		io.Writer
	}{c.r, c.conn}); err != nil {
		c.decide(c.unread(Unsupported, err))
		return
	}
	name, port, err := socks.ReadRequest(c.r)
	if err != nil {
		reply := byte(socks.Failed)
		if bad, ok := errors.AsType[*socks.RequestError](err); ok {
			reply = bad.Reply
		}
		c.answerSOCKS(reply, c.unread(Malformed, err))
		return
	}
	c.entry.Port = port
	if c.entry.Host, err = host.Normalise(name); err != nil {
		c.answerSOCKS(socks.NotAllowed, refused(Malformed, "%v", err))
		return
	}
	up, d := c.open(ctx)
	if d != nil {
		reply := byte(socks.NotAllowed)
		if d.verdict == Failed {
			reply = socks.Unreachable
		}
		c.answerSOCKS(reply, d)
		return
	}
	defer up.Release()
	c.decide(nil)
	if err := socks.Reply(c.conn, socks.Succeeded); err != nil {
		c.finish(ctx, up, failed(ConnectFailed, "the client went away"))
		return
	}
	c.finish(ctx, up, c.tunnel(ctx, up))
}

func (c *client) answerSOCKS(reply byte, d *denial) {
	c.decide(d)
	if err := socks.Reply(c.conn, reply); err == nil {
		relay.Linger(c.conn)
	}
}
