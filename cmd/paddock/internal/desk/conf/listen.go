package conf

import (
	"context"
	"errors"
	"net"
	"os"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
)

// Listen opens where requests come in: what the service manager handed over, or an
// address of the settings, if those may be reached there.
func Listen(ctx context.Context, d *desk.Desk, s settings.Settings) (net.Listener, error) {
	l, err := sd.Listener(d.Env, os.Getpid())
	if l == nil && err == nil {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	}
	if err != nil {
		return nil, desk.Usage("can't listen: "+err.Error(), "--listen names another address; port 0 takes a free one")
	}
	if err := Exposed(s, l.Addr()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
