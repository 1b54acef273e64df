package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"paddock/internal/control/peer"
	"paddock/internal/control/socket"
	"paddock/internal/control/wire"
)

// Listen makes the socket "control" in dir, for this user only. One that a
// supervisor left behind is replaced: the caller has the run's lock, so nobody
// is listening on it. Closing the listener removes the socket.
func Listen(dir string) (net.Listener, error) { return socket.Listen(dir) }

// Dial speaks to the supervisor of the run in dir and says hello. fs.ErrNotExist
// or ECONNREFUSED in the error mean that there is no supervisor; an *[Error]
// that it doesn't let us in.
func Dial(ctx context.Context, dir, token string) (*Client, error) {
	conn, err := socket.Connect(ctx, dir)
	if err != nil {
		return nil, err
	}
	uid, err := peer.UID(conn)
	if err == nil && !peer.Trusted(uid, uint32(os.Geteuid())) {
		err = fmt.Errorf("user %d listens there: %w", uid, fs.ErrPermission)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control socket in %s: %w", dir, err), conn.Close())
	}
	c := NewClient(conn)
	r, err := c.call(ctx, wire.Request{Verb: wire.VerbHello, Protocol: Protocol, Token: token})
	if err == nil && r.Protocol != Protocol {
		err = wire.Fault(wire.Mismatch, "the supervisor speaks protocol %d, not %d", r.Protocol, Protocol)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
