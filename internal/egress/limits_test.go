package egress_test

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/egress"
)

// TestSlow never finishes saying what it wants.
func TestSlow(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":            "",
		"half a head":        "GET http://site.example/ HTTP/1.1\r\nHost: si",
		"half a greeting":    "\x05\x02\x00",
		"half a request":     "\x05\x01\x00\x05\x01\x00\x03\x0bsite",
		"no hello":           "CONNECT site.example:443 HTTP/1.1\r\n\r\n",
		"half a hello":       "CONNECT site.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01",
		"half a hello at 22": "CONNECT site.example:22 HTTP/1.1\r\n\r\n\x16\x03\x01",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := worldOver(t, &wires{all: map[string]*wire{}}, []string{site + ":443", site + ":22"}, nil)
				w.host(site, "11.0.0.1")
				silent := func(conn net.Conn) { rest(conn) }
				w.serve("11.0.0.1:443", silent)
				w.serve("11.0.0.1:22", silent)
				begun := time.Now()
				_, r := w.connect(in)
				if _, err := io.ReadAll(r); err != nil {
					t.Errorf("not closed: %v", err)
				}
				if took := time.Since(begun); took < 15*time.Second || took > 17*time.Second { // and then the end lingers
					t.Errorf("closed after %v", took)
				}
				if in == "" {
					return
				}
				if e := w.last(); e.Verdict != egress.Refused || e.Code != egress.TimedOut {
					t.Errorf("recorded %+v", e)
				}
			})
		})
	}
}

// TestDripping sends a byte now and then, for ever: the time is for the whole
// request.
func TestDripping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := worldOver(t, &wires{all: map[string]*wire{}}, nil, nil)
		conn, r := w.connect("GET http://site.example/ HTTP/1.1\r\n")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := io.WriteString(conn, "X"); err != nil {
					return
				}
				select {
				case <-time.After(5 * time.Millisecond):
				case <-t.Context().Done():
					return
				}
			}
		}()
		rest(r)
		conn.Close()
		<-done
		if e := w.last(); e.Code != egress.TimedOut {
			t.Errorf("recorded %+v", e)
		}
	})
}

func TestIdleAndTotal(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]egress.Limits{
		"nothing moves": {Idle: time.Minute, Total: time.Hour},
		"for too long":  {Total: time.Minute, Idle: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := worldOver(t, &wires{all: map[string]*wire{}}, []string{site + ":22"}, func(c *egress.Config) { c.Limits = limits })
				w.host(site, "11.0.0.1")
				w.serve("11.0.0.1:22", echo)
				begun := time.Now()
				conn, r := w.tunnel(site + ":22")
				send(conn, "x")
				if b, err := r.ReadByte(); b != 'x' || err != nil {
					t.Fatalf("got %q, %v", b, err)
				}
				if _, err := r.ReadByte(); err == nil {
					t.Error("something came")
				}
				if took := time.Since(begun); took < time.Minute || took > time.Minute+2*time.Second {
					t.Errorf("closed after %v", took)
				}
				if e := w.last(); e.Verdict != egress.Allowed || e.Code != egress.TimedOut || e.BytesOut != 1 || e.BytesIn != 1 {
					t.Errorf("recorded %+v", e)
				}
			})
		})
	}
}

// TestManyConnections opens ten thousand while there is room for 64: all are
// served, never more than 64 at a time, and memory stays bounded.
func TestManyConnections(t *testing.T) {
	const clients, total = 250, 10_000
	var open, most, served atomic.Int64
	w := newWorld(t, []string{site + ":22"}, func(c *egress.Config) {
		c.Limits = egress.Limits{Connections: 64}
		dial := c.Dial
		c.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			conn, err := dial(ctx, to)
			if err != nil {
				return nil, err
			}
			now := open.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			return &counted{Conn: conn, open: &open}, nil
		}
	})
	w.host(site, "11.0.0.1")
	w.serve("11.0.0.1:22", func(conn net.Conn) {
		echo(conn)
		served.Add(1)
	})
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range total / clients {
				once(t, w.at)
			}
		})
	}
	all.Wait()
	if served.Load() != total || most.Load() > 64 {
		t.Errorf("%d served, up to %d at a time", served.Load(), most.Load())
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 128<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	_, _, entries := w.seen()
	busy := 0
	for _, e := range entries {
		if e.Code == egress.Busy {
			busy++
		}
	}
	if busy != 1 || len(entries) > 2*total+1 {
		t.Errorf("%d entries, %d of them busy", len(entries), busy)
	}
}

// A counted connection takes itself off a count when it is closed.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

func (c *counted) CloseWrite() error {
	half(c.Conn)
	return nil
}

// once opens a tunnel, sends a byte and gets it back.
func once(t *testing.T, at string) {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Errorf("connect: %v", err)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	send(conn, "CONNECT "+site+":22 HTTP/1.1\r\n\r\nx")
	half(conn)
	if b, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(b), "\r\n\r\nx") {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestServeEnds leaves nothing behind when it ends in the midst of everything.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	w := &world{t: t, names: map[string][]string{}, servers: map[string]string{}, told: make(chan struct{})}
	w.host(site, "11.0.0.1")
	w.serve("11.0.0.1:22", echo)
	w.serve("11.0.0.1:80", func(conn net.Conn) { rest(conn) })
	server, roots := tlsServer(t, func(c *tls.Conn) { echo(c) }, site)
	w.serve("11.0.0.1:443", server)
	p, err := egress.New(egress.Config{
		Rules: parse(t, site+":22", site+":80", site+":443"), Resolve: w.resolve, Dial: w.dial, Record: w.record, Roots: roots,
		Inject: []egress.Injection{{Place: egress.Rule{Host: site, Port: 443}, Header: "X-Key", Value: fixed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = p
	for range 2 { // a proxy can serve again
		ln := listen(t)
		w.at = ln.Addr().String()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Serve(ctx, ln) }()
		w.connect("")
		w.connect("GET http")
		w.connect("GET http://site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n")
		w.connect("POST http://site.example/ HTTP/1.1\r\nHost: site.example\r\nContent-Length: 9\r\n\r\nx")
		w.tunnel(site + ":22")
		w.tunnel(site + ":443")
		w.connect("\x05\x01\x00")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if conn, err := net.Dial("tcp", w.at); err == nil {
			conn.Close()
			t.Error("the listener is still open")
		}
	}
	_, _, entries := w.seen()
	open := map[uint64]bool{}
	for _, e := range entries {
		open[e.Connection] = !e.Closed
	}
	for c, still := range open {
		if still {
			t.Errorf("connection %d has no last entry", c)
		}
	}
}

// broken is a listener that fails in ways that pass, then for good.
type broken struct {
	net.Listener
	errs []error
}

func (b *broken) Accept() (net.Conn, error) {
	err := b.errs[0]
	b.errs = b.errs[1:]
	return nil, err
}

func TestAcceptFails(t *testing.T) {
	t.Parallel()
	p, err := egress.New(egress.Config{Record: func(egress.Entry) {}})
	if err != nil {
		t.Fatal(err)
	}
	ln := &broken{listen(t), []error{syscall.EMFILE, syscall.ECONNABORTED, syscall.EINVAL}}
	if err := p.Serve(t.Context(), ln); err == nil || len(ln.errs) != 0 {
		t.Errorf("got %v, %d errors left", err, len(ln.errs))
	}
}

// TestStuckOrigin sends more and more to an origin that doesn't read: the
// proxy keeps none of it, and ends the connection when nothing moves any more.
func TestStuckOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{site + ":22"}, func(c *egress.Config) { c.Limits.Idle = 200 * time.Millisecond })
	w.host(site, "11.0.0.1")
	ended := make(chan struct{})
	w.serve("11.0.0.1:22", func(net.Conn) { <-ended })
	defer close(ended)
	conn, _ := w.tunnel(site + ":22")
	if n, err := io.Copy(conn, rand.NewChaCha8([32]byte{})); err == nil || n > 64<<20 {
		t.Errorf("%d bytes were taken, %v", n, err)
	}
	if e := w.last(); e.Code != egress.TimedOut {
		t.Errorf("recorded %+v", e)
	}
}
