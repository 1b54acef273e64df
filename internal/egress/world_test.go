package egress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/egress"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A world is a proxy and everything that it can see: names, addresses, and
// servers on loopback that play the hosts at those addresses.
type world struct {
	t     *testing.T
	proxy *egress.Proxy
	at    string // where the proxy listens
	wires *wires // nil is the machine's network

	mu       sync.Mutex // guards what follows
	names    map[string][]string
	servers  map[string]string // address:port → the loopback address that plays it
	resolved []string
	dialed   []string
	entries  []egress.Entry
	told     chan struct{} // closed and replaced at every entry
}

// newWorld makes a world with these rules; change may change its config.
func newWorld(t *testing.T, rules []string, change func(*egress.Config)) *world {
	t.Helper()
	return worldOver(t, nil, rules, change)
}

// worldOver makes a world that these connect.
func worldOver(t *testing.T, by *wires, rules []string, change func(*egress.Config)) *world {
	t.Helper()
	w := &world{t: t, wires: by, names: map[string][]string{}, servers: map[string]string{}, told: make(chan struct{})}
	cfg := egress.Config{Resolve: w.resolve, Dial: w.dial, Record: w.record, Rules: parse(t, rules...)}
	if change != nil {
		change(&cfg)
	}
	p, err := egress.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln := w.listen()
	w.proxy, w.at = p, ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return w
}

func parse(t *testing.T, rules ...string) (out []egress.Rule) {
	t.Helper()
	for _, s := range rules {
		r, err := egress.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func (w *world) listen() net.Listener {
	w.t.Helper()
	if w.wires != nil {
		return w.wires.listen()
	}
	return listen(w.t)
}

func (w *world) reach(ctx context.Context, address string) (net.Conn, error) {
	if w.wires != nil {
		return w.wires.dial(ctx, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// host gives a name its addresses.
func (w *world) host(name string, addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addrs
}

// serve plays the server at an address and port.
func (w *world) serve(at string, handle func(net.Conn)) {
	ln := w.listen()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	w.play(at, ln.Addr().String())
	w.t.Cleanup(func() {
		ln.Close()
		open.Wait()
	})
}

func (w *world) play(at, loopback string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[at] = loopback
}

func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolved = append(w.resolved, host)
	list, ok := w.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.9.9:53"}
	}
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

func (w *world) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, to.String())
	server, ok := w.servers[to.String()]
	w.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("nobody is at %s", to)
	}
	return w.reach(ctx, server)
}

func (w *world) record(e egress.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
	close(w.told)
	w.told = make(chan struct{})
}

// last waits for the entry that closes a connection, the newest by default.
func (w *world) last() egress.Entry {
	w.t.Helper()
	for {
		w.mu.Lock()
		told := w.told
		if n := len(w.entries); n > 0 && w.entries[n-1].Closed {
			defer w.mu.Unlock()
			return w.entries[n-1]
		}
		w.mu.Unlock()
		select {
		case <-told:
		case <-w.t.Context().Done():
			w.t.Fatal("nothing was recorded")
		}
	}
}

func (w *world) seen() (resolved, dialed []string, entries []egress.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.resolved), slices.Clone(w.dialed), slices.Clone(w.entries)
}

// untouched fails if anything was resolved or connected to.
func (w *world) untouched() {
	w.t.Helper()
	if resolved, dialed, _ := w.seen(); len(resolved)+len(dialed) > 0 {
		w.t.Errorf("resolved %q, connected to %q", resolved, dialed)
	}
}

// connect opens a connection to the proxy and sends text.
func (w *world) connect(text string) (net.Conn, *bufio.Reader) {
	w.t.Helper()
	conn, err := w.reach(w.t.Context(), w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute)) // a hang is a failure
	if text == "" {
		return conn, bufio.NewReader(conn)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// A reply is an answer that was read to its end.
type reply struct {
	StatusCode int
	Header     http.Header
	Close      bool
}

// ask sends a request and returns the answer with its body.
func (w *world) ask(text string) (reply, string) {
	w.t.Helper()
	_, r := w.connect(text)
	return w.answer(r)
}

func (w *world) answer(r *bufio.Reader) (reply, string) {
	w.t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	return reply{resp.StatusCode, resp.Header, resp.Close}, string(body)
}

// tunnel opens a tunnel to a target and returns its ends.
func (w *world) tunnel(target string) (net.Conn, *bufio.Reader) {
	w.t.Helper()
	conn, r := w.connect("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close() // the tunnel isn't a body
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("CONNECT %s: got %d", target, resp.StatusCode)
	}
	return conn, r
}

// echo sends everything back.
func echo(conn net.Conn) {
	if _, err := io.Copy(conn, conn); err == nil {
		half(conn)
	}
}

// half ends one direction.
func half(conn net.Conn) {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		if c.CloseWrite() != nil {
			return // the other side may be gone, and then the test sees that
		}
	}
}

// send writes to a connection that may be cut off at any moment, because that
// is what is tested.
func send(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		return
	}
}

// rest reads what comes until the end, of whatever kind.
func rest(r io.Reader) string {
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return b.String()
	}
	return b.String()
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q lacks %q", text, p)
		}
	}
}
