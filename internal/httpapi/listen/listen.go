// Package listen keeps an HTTP server on an address: with time limits on everything that
// a client could draw out, a bound on connections of which quiet ones make room, TLS whose files may be replaced, and
// an end that lets answers be finished.
//
// # Limits
//
// What a request is answered is the handler's. Streams set deadlines of their own, for
// each write.
package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Time limits and sizes.
const (
	headerTime  = 10 * time.Second
	readTime    = 30 * time.Second
	writeTime   = 90 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
	// Grace is how long answers may take once the server is to end, unless it is said.
	Grace = 10 * time.Second
	// reloadEvery is how often the files of TLS are looked at.
	reloadEvery = 30 * time.Second
)

// Options say how to serve.
type Options struct {
	Handler     http.Handler
	Connections int
	// Cert and Key are files; without them there is no TLS.
	Cert, Key string
	Log       *slog.Logger
	// Ending is called when the server begins to end, before answers are waited for.
	Ending func()
	// Grace is how long answers may take then, after which they are cut off; 0 stands for
	// [Grace].
	Grace time.Duration
	Now   func() time.Time
}

// Serve answers what comes to l until ctx ends, and a little longer for answers that
// were begun. It closes l.
func Serve(ctx context.Context, l net.Listener, opt Options) error {
	server := &http.Server{
		Handler: noted(opt.Handler), ConnContext: keep, ConnState: state, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(opt.Log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true, // or OPTIONS * is answered and the handler not asked
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	l = newBounded(l, opt.Connections)
	if opt.Cert != "" {
		c := &certificate{cert: opt.Cert, key: opt.Key, now: opt.Now}
		if _, err := c.get(nil); err != nil {
			return errors.Join(err, l.Close())
		}
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	}
	done := make(chan error, 1)
	go func() {
		if opt.Cert != "" {
			done <- server.ServeTLS(l, "", "")
		} else {
			done <- server.Serve(l)
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	opt.Ending()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(opt.Grace, Grace))
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		opt.Log.Warn("answers were cut off", "error", err.Error())
		_ = server.Close() // it was asked nicely
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A certificate is read again when its files have changed. While they can't be used,
// the one before is.
type certificate struct {
	cert, key string
	now       func() time.Time

	mu     sync.Mutex
	last   *tls.Certificate
	at     time.Time // when the files were last looked at
	stamps [2]time.Time
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.last != nil && now.Sub(c.at) < reloadEvery {
		return c.last, nil
	}
	c.at = now
	var stamps [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return c.last, c.unless(err)
		}
		stamps[i] = info.ModTime()
	}
	if c.last != nil && stamps == c.stamps {
		return c.last, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return c.last, c.unless(err)
	}
	c.last, c.stamps = &pair, stamps
	return c.last, nil
}

// unless is no error while there is an earlier certificate.
func (c *certificate) unless(err error) error {
	if c.last != nil {
		return nil
	}
	return err
}
