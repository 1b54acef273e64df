//go:build linux

package outlet

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/contain"
	"paddock/internal/control"
	"paddock/internal/egress"
	"paddock/internal/egress/credential"
)

// Main is the proxy's process. conn is the supervisor's: over it the proxy gets
// its orders and the socket, and tells what it decides; with its end, for
// whatever reason, the proxy ends.
func Main(ctx context.Context, conn *net.UnixConn) error {
	// Programs of our own user must not look into what passes here.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	text, files, err := control.ReceiveJob(conn)
	if errors.Is(err, io.EOF) {
		return nil // the supervisor is gone
	}
	if err != nil {
		return err
	}
	cfg, err := configOf(text, files) // while files can still be opened
	if err != nil {
		return err
	}
	if err := contain.Confine(); err != nil && !errors.Is(err, unix.ENOTSUP) { // a build with cgo, for the race detector
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cfg.Record = func(e egress.Entry) {
		// What can't be told isn't let through.
		if err := json.NewEncoder(conn).Encode(e); err != nil {
			cancel()
		}
	}
	proxy, err := egress.New(cfg)
	if err != nil {
		return err
	}
	if ca := proxy.CA(); ca != nil {
		if err := json.NewEncoder(conn).Encode(answer{ca}); err != nil {
			return err
		}
	}
	listener, err := socketOf(conn)
	if listener == nil {
		return err
	}
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, conn) // until the supervisor's half ends
	}()
	return proxy.Serve(ctx, listener)
}

// socketOf waits for the socket that the run's connections come to; there is
// none for a run that didn't start.
func socketOf(conn *net.UnixConn) (net.Listener, error) {
	_, files, err := control.ReceiveJob(conn)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	if len(files) != 1 {
		return nil, fmt.Errorf("%d descriptors came where the run's socket was expected", len(files))
	}
	return net.FileListener(files[0])
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written
	}
}

// configOf reads the orders, and the secrets that came with them.
func configOf(text []byte, files []*os.File) (cfg egress.Config, err error) {
	defer closeAll(files)
	var o orders
	if err := json.Unmarshal(text, &o); err != nil {
		return cfg, fmt.Errorf("orders: %w", err)
	}
	for _, line := range o.Rules {
		rule, err := egress.ParseRule(line)
		if err != nil {
			return cfg, err
		}
		cfg.Rules = append(cfg.Rules, rule)
	}
	if len(files) == 0 {
		return cfg, nil
	}
	secrets, err := credential.Open(files[0])
	if err != nil {
		return cfg, err
	}
	for _, c := range secrets {
		i, err := injection(c)
		if err != nil {
			return cfg, fmt.Errorf("secret %s: %w", c.Name, err)
		}
		cfg.Inject = append(cfg.Inject, i)
	}
	return cfg, nil
}

func injection(c credential.Credential) (egress.Injection, error) {
	place, err := egress.ParseRule(c.Place)
	if err != nil {
		return egress.Injection{}, err
	}
	roots := x509.NewCertPool()
	if c.CA == "" {
		roots, err = x509.SystemCertPool()
	} else if !roots.AppendCertsFromPEM([]byte(c.CA)) {
		err = errors.New("its host's certificates can't be read")
	}
	return egress.Injection{Name: c.Name, Place: place, Header: c.Header, Value: func() string { return c.Value }, Roots: roots}, err
}
