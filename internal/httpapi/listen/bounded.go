package listen

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// A bounded listener has no more connections than it has room for. Where there is no more,
// the one of which nothing was asked for the longest time makes room: whoever only holds
// connections, or sends a header bit by bit, keeps nobody else out. Those on which something
// is answered stay.
type bounded struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	quiet list.List // of *held, the longest quiet one first; guarded by mu
	want  bool      // somebody waits for room; guarded by mu
}

func newBounded(l net.Listener, most int) *bounded {
	return &bounded{Listener: l, room: make(chan struct{}, max(1, most)), closed: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := b.enter(); err != nil {
		_ = c.Close() // nothing was said on it
		return nil, err
	}
	h := &held{Conn: c, of: b, free: sync.OnceFunc(func() { <-b.room })}
	b.mu.Lock()
	defer b.mu.Unlock()
	h.at = b.quiet.PushBack(h)
	return h, nil
}

// enter waits for room, and makes some if it can.
func (b *bounded) enter() error {
	select {
	case b.room <- struct{}{}:
		return nil
	default:
	}
	b.mu.Lock()
	b.want = true
	oldest := b.quiet.Front()
	b.mu.Unlock()
	if oldest != nil {
		_ = oldest.Value.(*held).Close() //nolint:errcheck // nobody is answered on it, and the list has nothing else
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.want = false
	}()
	select {
	case b.room <- struct{}{}:
		return nil
	case <-b.closed:
		return net.ErrClosed
	}
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// A held connection has a place in the room.
type held struct {
	net.Conn
	of   *bounded
	free func()

	at   *list.Element // in of.quiet; nil while something is answered, and at the end; guarded by of.mu
	busy int           // answers under way; guarded by of.mu
	idle bool          // the server has sent all that it had; guarded by of.mu
	over bool          // guarded by of.mu
}

func (h *held) Close() error {
	h.of.mu.Lock()
	h.over = true
	h.louder()
	h.of.mu.Unlock()
	defer h.free()
	return h.Conn.Close()
}

// louder is called with the lock.
func (h *held) louder() {
	if h.at != nil {
		h.of.quiet.Remove(h.at)
		h.at = nil
	}
}

// begin says that something is answered.
func (h *held) begin() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.busy++
	h.idle = false
	h.louder()
}

// end says that it was; it may not be sent yet.
func (h *held) end() { h.rest(-1, false) }

// rest puts a connection back among the quiet ones once all is answered and sent. If
// somebody waits for room it is closed instead.
func (h *held) rest(busy int, idle bool) {
	h.of.mu.Lock()
	h.busy += busy
	h.idle = h.idle || idle
	gone := false
	if h.busy == 0 && h.idle && !h.over && h.at == nil {
		if gone = h.of.want; !gone {
			h.at = h.of.quiet.PushBack(h)
		}
	}
	h.of.mu.Unlock()
	if gone {
		_ = h.Close() // nothing is under way on it
	}
}

type key struct{}

// heldOf is the place of a connection.
func heldOf(c net.Conn) *held {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	h, _ := c.(*held)
	return h
}

// keep lets h's connection know of what is answered on it.
func keep(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, key{}, heldOf(c))
}

// state hears what the server does with a connection. One that is somebody's own from now
// on stays.
func state(c net.Conn, s http.ConnState) {
	h := heldOf(c)
	switch {
	case h == nil:
	case s == http.StateHijacked:
		h.begin()
	case s == http.StateIdle:
		h.rest(0, true)
	}
}

// noted is a handler that says when it answers.
func noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, _ := r.Context().Value(key{}).(*held); h != nil {
			h.begin()
			defer h.end()
		}
		next.ServeHTTP(w, r)
	})
}
