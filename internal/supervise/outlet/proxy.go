//go:build linux

package outlet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"paddock/internal/contain"
	"paddock/internal/control"
	"paddock/internal/egress"
)

// Main is the proxy's process. conn is the supervisor's: over it the proxy gets
// its orders and the socket, and tells what it decides; with its end, for
// whatever reason, the proxy ends.
func Main(ctx context.Context, conn *net.UnixConn) error {
	// Programs of our own user must not look into what passes here.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := contain.Confine(); err != nil && !errors.Is(err, unix.ENOTSUP) { // a build with cgo, for the race detector
		return err
	}
	text, files, err := control.ReceiveJob(conn)
	if errors.Is(err, io.EOF) {
		return nil // the run didn't start
	}
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("%d descriptors came with the orders, want 1", len(files))
	}
	listener, err := net.FileListener(files[0])
	if err := errors.Join(err, files[0].Close()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	proxy, err := newProxy(text, func(e egress.Entry) {
		// What can't be told isn't let through.
		if err := json.NewEncoder(conn).Encode(e); err != nil {
			cancel()
		}
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, conn) // until the supervisor's half ends
	}()
	return proxy.Serve(ctx, listener)
}

func newProxy(text []byte, record func(egress.Entry)) (*egress.Proxy, error) {
	var o orders
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	cfg := egress.Config{Record: record}
	for _, line := range o.Rules {
		rule, err := egress.ParseRule(line)
		if err != nil {
			return nil, err
		}
		cfg.Rules = append(cfg.Rules, rule)
	}
	return egress.New(cfg)
}
