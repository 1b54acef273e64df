package egress_test

import (
	"context"
	"net"
	"strconv"
	"sync"
)

// wires connect a world by pipes and not by the machine's network, for tests in a bubble:
// time passes there when nothing else can happen, however busy the machine is. Nil is the
// network.
type wires struct {
	mu  sync.Mutex
	all map[string]*wire
}

// A wire is a listener.
type wire struct {
	name  string
	comes chan net.Conn
	over  chan struct{}
	close func()
}

func (w *wires) listen() net.Listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := make(chan struct{})
	l := &wire{strconv.Itoa(len(w.all)), make(chan net.Conn), over, sync.OnceFunc(func() { close(over) })}
	w.all[l.name] = l
	return l
}

func (w *wires) dial(ctx context.Context, to string) (net.Conn, error) {
	w.mu.Lock()
	l := w.all[to]
	w.mu.Unlock()
	ours, theirs := net.Pipe()
	select {
	case l.comes <- theirs:
		return ours, nil
	case <-l.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-l.comes:
		return conn, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *wire) Close() error    { l.close(); return nil }
func (l *wire) Addr() net.Addr  { return l }
func (l *wire) Network() string { return "wire" }
func (l *wire) String() string  { return l.name }
