//go:build linux

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control/socket"
	"paddock/internal/control/wire"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"stranger": stranger})
}

const token = "0123456789abcdef0123456789abcdef"

// A stub is a supervisor without a run.
type stub struct {
	mu      sync.Mutex
	kills   []Kill
	renewed int
	subs    map[chan Event]bool
	refuse  error
	came    chan struct{} // a value per subscription
}

func newStub() *stub { return &stub{subs: map[chan Event]bool{}, came: make(chan struct{}, 10_000)} }

func (s *stub) Status() Status {
	return Status{State: paddock.Running, LeaderPID: 42, Stdout: 7, Stderr: 8, Isolation: paddock.PIDNamespace}
}

func (s *stub) Kill(k Kill) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kills = append(s.kills, k)
	return s.refuse
}

func (s *stub) Renew(time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed++
	return nil
}

func (s *stub) Subscribe() (<-chan Event, func()) {
	c := make(chan Event) // no buffer: whoever doesn't listen holds tell up
	s.mu.Lock()
	s.subs[c] = true
	s.mu.Unlock()
	s.came <- struct{}{}
	return c, func() {
		s.mu.Lock()
		delete(s.subs, c)
		s.mu.Unlock()
	}
}

// tell hands e to every subscriber and fails if one holds it up.
func (s *stub) tell(t testing.TB, e Event) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.subs {
		select {
		case c <- e:
		case <-time.After(2 * time.Minute):
			t.Fatal("a subscriber holds the supervisor up")
		}
	}
}

func (s *stub) subscribers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)
}

// serve serves h in a new directory until the test ends, or until stop.
func serve(t testing.TB, h Handler) (dir string, stop func()) {
	t.Helper()
	dir = t.TempDir()
	return dir, serveIn(t, dir, h)
}

func serveIn(t testing.TB, dir string, h Handler) (stop func()) {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, token) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func dial(t testing.TB, dir string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), dir, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func next(t testing.TB, events <-chan Event) Event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the events ended")
		}
		return e
	case <-time.After(2 * time.Minute):
		t.Fatal("no event came")
	}
	return Event{}
}

func ended[T any](t testing.TB, c <-chan T, what string) {
	t.Helper()
	for {
		select {
		case _, ok := <-c:
			if !ok {
				return
			}
		case <-time.After(2 * time.Minute):
			t.Fatal(what, " goes on")
		}
	}
}

func TestVerbs(t *testing.T) {
	t.Parallel()
	h := newStub()
	dir, _ := serve(t, h)
	c := dial(t, dir)
	ctx := t.Context()
	status, err := c.Status(ctx)
	if diff := cmp.Diff(h.Status(), status); diff != "" || err != nil {
		t.Errorf("Status: %v\n%s", err, diff)
	}
	k := Kill{Kind: paddock.ReasonKill, Signal: "TERM", By: "alice", Why: "\"enough\"\n<é>"}
	if err := c.Kill(ctx, k); err != nil {
		t.Error(err)
	}
	if err := c.Renew(ctx, 0); err != nil {
		t.Error(err)
	}
	h.refuse = errors.New("it is frozen")
	var e *Error
	if err := c.Kill(ctx, k); !errors.As(err, &e) || e.Code != wire.Failed || e.Message != "it is frozen" {
		t.Errorf("Kill that fails: %v", err)
	}
	for _, bad := range []Kill{{}, {Kind: paddock.ReasonKill}, {Kind: paddock.ReasonTimeout, Signal: "TERM"}, {Kind: paddock.ReasonKill, Signal: "SIGSTOP"}} {
		if err := c.Kill(ctx, bad); !errors.As(err, &e) || e.Code != wire.Malformed {
			t.Errorf("Kill(%v) = %v", bad, err)
		}
	}
	if err := c.Kill(ctx, Kill{Kind: paddock.ReasonKill, Signal: "TERM", Why: strings.Repeat("x", wire.MaxLine)}); !errors.As(err, &e) || e.Code != wire.Malformed {
		t.Errorf("a Kill of more than a line: %v", err)
	}
	if diff := cmp.Diff([]Kill{k, k}, h.kills); diff != "" || h.renewed != 1 {
		t.Errorf("the handler got %d renewals and these kills (-want +got):\n%s", h.renewed, diff)
	}
	if _, err := c.Status(ctx); err != nil {
		t.Errorf("after all this: %v", err)
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	h := newStub()
	dir, stop := serve(t, h)
	c := dial(t, dir)
	events, err := c.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := c.Subscribe(t.Context()); !errors.As(err, &e) || e.Code != wire.TooMany {
		t.Errorf("a second subscription: %v", err)
	}
	outcome := paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, Detail: "\xff"}}
	for _, want := range []Event{
		{Kind: EventStarted}, {Kind: EventOutput, Stdout: 3, Stderr: 4}, {Kind: EventFailed, Error: "disk full"},
		{Kind: EventSettled, Outcome: &outcome},
	} {
		h.tell(t, want)
		if want.Outcome != nil {
			o := outcome
			o.Reason.Detail = "\uFFFD" // mended and not lost
			want.Outcome = &o
		}
		if diff := cmp.Diff(want, next(t, events)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
	// What is told just before the end still arrives.
	h.tell(t, Event{Kind: EventOutput, Stdout: 9})
	stop()
	if got := next(t, events); got.Stdout != 9 {
		t.Errorf("the last event: %v", got)
	}
	ended(t, events, "the subscription")
	ended(t, c.Done(), "the client")
	if _, err := c.Status(t.Context()); err == nil {
		t.Error("a supervisor that is gone has a status")
	}
	if h.subscribers() != 0 {
		t.Error("the handler's subscription wasn't canceled")
	}
}

func TestSubscriptionEnds(t *testing.T) {
	t.Parallel()
	h := newStub()
	dir, _ := serve(t, h)
	c := dial(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	events, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	ended(t, events, "the subscription")
	// Events that nobody listens to any more don't keep answers away.
	for i := range int64(100) {
		h.tell(t, Event{Kind: EventOutput, Stdout: i})
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	closed := dial(t, dir)
	events, err = closed.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.tell(t, Event{Kind: EventStarted})
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	ended(t, events, "a closed client's subscription")
	if _, err := closed.Subscribe(t.Context()); err == nil {
		t.Error("a closed client was subscribed")
	}
	if err := errors.Join(closed.Close(), closed.Renew(t.Context(), 0)); err == nil {
		t.Error("a closed client renewed")
	}
}

// A thousand clients listen, and one of them never reads: the supervisor isn't
// held up, and the others get the latest.
// Who follows is called with what a subscriber would receive, in order, until the end.
func TestFollow(t *testing.T) {
	t.Parallel()
	h := newStub()
	dir, stop := serve(t, h)
	c := dial(t, dir)
	came, over, ready := make(chan Event, 10), make(chan error, 1), make(chan struct{})
	go func() {
		over <- c.Follow(t.Context(), func() { close(ready) }, func(e Event) { came <- e })
	}()
	<-ready
	for _, e := range []Event{{Kind: EventStarted}, {Kind: EventOutput, Stdout: 3}, {Kind: EventSettled, Outcome: &paddock.Outcome{State: paddock.Exited}}} {
		h.tell(t, e)
		if diff := cmp.Diff(e, next(t, came)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
	var e *Error
	if err := c.Follow(t.Context(), nil, nil); !errors.As(err, &e) || e.Code != wire.TooMany {
		t.Errorf("a second subscription: %v", err)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("answers don't come any more: %v", err)
	}
	stop()
	if err := <-over; err != nil {
		t.Errorf("at the end: %v", err)
	}
	_ = c.Close() // the connection ended with its peer
	if err := c.Follow(t.Context(), nil, nil); err == nil {
		t.Error("a closed client follows")
	}
	again := dial(t, func() string { dir, _ := serve(t, newStub()); return dir }())
	ctx, cancel := context.WithCancel(t.Context())
	if err := again.Follow(ctx, cancel, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who is told to stop: %v", err)
	}
}

func TestManySubscribers(t *testing.T) {
	h := newStub()
	dir, stop := serve(t, h)
	deaf := raw(t, dir)
	deaf.say(`{"verb":"hello","protocol":1,"token":"`+token+`"}`, `{"id":1,"verb":"subscribe"}`)
	const n = 999
	var streams []<-chan Event
	for range n {
		events, err := dial(t, dir).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, events)
	}
	for range n + 1 {
		<-h.came
	}
	padding := strings.Repeat("x", 10_000) // so that the deaf one's socket fills up
	const last = 25
	for i := range int64(last + 1) {
		h.tell(t, Event{Kind: EventOutput, Stdout: i, Error: padding})
	}
	for _, events := range streams {
		for at := int64(-1); at < last; {
			e := next(t, events)
			if e.Stdout <= at {
				t.Fatalf("event %d after %d", e.Stdout, at)
			}
			at = e.Stdout
		}
	}
	stop()
	for _, events := range streams {
		ended(t, events, "a subscription")
	}
}

// rawConn speaks the wire by hand.
type rawConn struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func raw(t testing.TB, dir string) *rawConn {
	t.Helper()
	conn, err := socket.Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &rawConn{t, conn, bufio.NewReader(conn)}
}

func (c *rawConn) say(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawConn) hear() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "end: " + err.Error()
	}
	return strings.TrimSuffix(line, "\n")
}

// The wire of version 1: what is said and what is answered, byte for byte.
func TestGoldenWire(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "v1", "conversation"))
	if err != nil {
		t.Fatal(err)
	}
	h := newStub()
	dir, _ := serve(t, h)
	c := raw(t, dir)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		kind, body, _ := strings.Cut(line, " ")
		switch kind {
		case "#", "":
		case ">":
			c.say(body)
		case "!":
			var e Event
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == EventStarted {
				<-h.came
			}
			h.tell(t, e)
		case "<":
			if got := c.hear(); got != body {
				t.Errorf("\nwant %s\ngot  %s", body, got)
			}
		default:
			t.Fatalf("what is %q?", line)
		}
	}
}

func TestHello(t *testing.T) {
	t.Parallel()
	dir, _ := serve(t, newStub())
	for _, c := range []struct{ name, say, want string }{
		{"a wrong token", `{"verb":"hello","protocol":1,"token":"0123456789abcdef0123456789abcdee"}`, `"unauthorized"`},
		{"a shorter token", `{"verb":"hello","protocol":1,"token":"0"}`, `"unauthorized"`},
		{"no token", `{"verb":"hello","protocol":1}`, `"unauthorized"`},
		{"a newer protocol", `{"verb":"hello","protocol":2,"token":"` + token + `"}`, `"protocol"`},
		{"no protocol", `{"verb":"hello","token":"` + token + `"}`, `"protocol"`},
		{"no hello", `{"id":1,"verb":"kill","kill":{"kind":"kill","signal":"KILL"}}`, `"unauthorized"`},
		{"garbage", "\x00\xff", `"malformed"`},
		{"nothing", "", `"malformed"`},
		{"a long line", strings.Repeat("x", wire.MaxHello+1), `"malformed"`},
		{"another program", "GET / HTTP/1.1\r", `"malformed"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := raw(t, dir)
			conn.say(c.say)
			if got := conn.hear(); !strings.Contains(got, `"error":{"code":`+c.want) {
				t.Errorf("answer: %s, want %s", got, c.want)
			}
			if got := conn.hear(); !strings.HasPrefix(got, "end: ") {
				t.Errorf("and then: %s", got)
			}
		})
	}
	var e *Error
	if c, err := Dial(t.Context(), dir, "wrong"); !errors.As(err, &e) || e.Code != wire.Unauthorized {
		t.Errorf("Dial = %v, %v", c, err)
	}
}

func TestServeWantsAToken(t *testing.T) {
	t.Parallel()
	l, err := Listen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Serve(t.Context(), l, newStub(), ""); err == nil {
		t.Error("served without a token")
	}
}

func TestHostileLines(t *testing.T) {
	t.Parallel()
	h := newStub()
	for _, c := range []struct{ name, say, want string }{
		{"unknown verb", `{"id":3,"verb":"dance"}`, `{"id":3,"error":{"code":"unknown_verb"`},
		{"unknown field", `{"id":3,"verb":"status","loud":true}`, `{"id":3,"error":{"code":"malformed"`},
		{"another's field", `{"id":3,"verb":"status","kill":{"kind":"kill","signal":"KILL"}}`, `{"id":3,"error":{"code":"malformed"`},
		{"a kill of nothing", `{"id":3,"verb":"kill"}`, `{"id":3,"error":{"code":"malformed"`},
		{"a doubled field", `{"id":3,"verb":"status","verb":"kill"}`, `{"error":{"code":"malformed"`},
		{"another case", `{"id":3,"VERB":"status"}`, `{"id":3,"error":{"code":"malformed"`},
		{"a wrong type", `{"id":3,"verb":7}`, `{"id":3,"error":{"code":"malformed"`},
		{"a huge number", `{"id":1e99,"verb":"status"}`, `{"error":{"code":"malformed"`},
		{"stdin", `{"id":3,"verb":"stdin"}`, `{"id":3,"error":{"code":"unsupported"`},
		{"hello again", `{"id":3,"verb":"hello","protocol":1,"token":"x"}`, `{"id":3,"error":{"code":"malformed"`},
		{"an array", `[]`, `{"error":{"code":"malformed"`},
		{"null", `null`, `{"error":{"code":"unknown_verb"`},
		{"NUL bytes", "\x00\x00", `{"error":{"code":"malformed"`},
		{"bad UTF-8", "{\"verb\":\"\xff\"}", `{"error":{"code":"malformed"`},
		{"very deep", strings.Repeat("[", 100_000), `{"error":{"code":"malformed"`},
		{"as long as a line may be", `{"verb":"` + strings.Repeat("x", wire.MaxLine-11) + `"}`, `{"error":{"code":"unknown_verb"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := pair(t)
			served := make(chan error, 1)
			go func() { served <- ServeConn(context.Background(), ours, h) }()
			conn := &rawConn{t, theirs, bufio.NewReader(theirs)}
			conn.say(c.say, `{"id":4,"verb":"renew"}`)
			if got := conn.hear(); !strings.HasPrefix(got, c.want) {
				t.Errorf("answer: %.300s, want %s", got, c.want)
			}
			if got := conn.hear(); got != `{"id":4,"ok":true}` {
				t.Errorf("the request after it: %s", got)
			}
			theirs.Close()
			if err := <-served; err != nil {
				t.Errorf("ServeConn: %v", err)
			}
		})
	}
}

// pair is the two ends of a connection that needs no hello.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return ends[0], ends[1]
}

func TestTenMegabytesInALine(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	served := make(chan error, 1)
	go func() { served <- ServeConn(context.Background(), ours, newStub()) }()
	go theirs.Write([]byte(strings.Repeat("x", 10<<20))) // as far as it gets
	line, err := bufio.NewReader(theirs).ReadString('\n')
	if !strings.Contains(line, "the line is too long") {
		t.Errorf("answer: %q, %v", line, err)
	}
	var e *Error
	if err := <-served; !errors.As(err, &e) || e.Code != wire.Malformed {
		t.Errorf("ServeConn = %v", err)
	}
}

func TestHalfALine(t *testing.T) {
	t.Parallel()
	h := newStub()
	ours, theirs := pair(t)
	served := make(chan error, 1)
	go func() { served <- ServeConn(context.Background(), ours, h) }()
	if _, err := io.WriteString(theirs, `{"id":1,"verb":"ren`); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if err := <-served; !errors.Is(err, io.ErrUnexpectedEOF) || h.renewed != 0 {
		t.Errorf("ServeConn = %v, renewed %d times", err, h.renewed)
	}
}

func TestServeConnEnds(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := newStub()
	go func() { served <- ServeConn(ctx, ours, h) }()
	c := NewClient(theirs)
	defer c.Close()
	events, err := c.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.tell(t, Event{Kind: EventStarted})
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("ServeConn = %v", err)
	}
	if got := next(t, events); got.Kind != EventStarted {
		t.Errorf("event: %v", got)
	}
	ended(t, events, "the subscription")
	ended(t, c.Done(), "the client")
}

// The caller's context ends a call that isn't answered, and the client serves on.
func TestUnansweredCall(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	c := NewClient(ours)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	conn := &rawConn{t, theirs, bufio.NewReader(theirs)}
	heard := make(chan string)
	go func() {
		heard <- conn.hear()
		cancel()
		heard <- conn.hear()
		// An answer that nobody waits for any more, one to nothing, and the one.
		conn.say(`{"id":1,"ok":true}`, `{"event":{"kind":"novelty"}}`, `{"id":99,"ok":true}`, `{"id":2,"ok":true,"news":[]}`)
	}()
	result := make(chan error)
	go func() { result <- c.Renew(ctx, 0) }()
	if got := <-heard; got != `{"id":1,"verb":"renew"}` {
		t.Errorf("first request: %s", got)
	}
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("first call: %v", err)
	}
	go func() { result <- c.Renew(t.Context(), 0) }()
	if got := <-heard; got != `{"id":2,"verb":"renew"}` {
		t.Errorf("second request: %s", got)
	}
	if err := <-result; err != nil {
		t.Errorf("second call: %v", err)
	}
}

func TestClientMeetsGarbage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"what?\n", "{\"id\":1}{\"id\":1}\n", strings.Repeat("x", wire.MaxLine+2), "{\"id\":1,\"ok\":tr"} {
		ours, theirs := pair(t)
		c := NewClient(ours)
		go func() {
			io.WriteString(theirs, text)
			theirs.CloseWrite()
		}()
		if err := c.Renew(t.Context(), 0); err == nil {
			t.Errorf("%.20q was taken for an answer", text)
		}
		ended(t, c.Done(), "the client")
		c.Close()
	}
}

func TestDeepDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a", 120), strings.Repeat("b", 120))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stop := serveIn(t, dir, newStub())
	name := filepath.Join(dir, "control")
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}
	if _, err := dial(t, dir).Status(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := Dial(t.Context(), dir, token); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dial where nobody listens: %v", err)
	}
}

func TestStaleSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.(*socket.Listener).Listener.Close(); err != nil { // as by a crash: the file stays
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir, token); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("Dial of a stale socket: %v", err)
	}
	serveIn(t, dir, newStub())
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := dial(t, dir).Status(t.Context()); err != nil {
		t.Errorf("after the old listener removed what it took for its own: %v", err)
	}
	for name, make := range map[string]func(string) error{
		"a file": func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"a link": func(name string) error { return os.Symlink(filepath.Join(dir, "control"), name) },
	} {
		other := t.TempDir()
		if err := make(filepath.Join(other, "control")); err != nil {
			t.Fatal(err)
		}
		if l, err := Listen(other); err == nil {
			l.Close()
			t.Errorf("%s was replaced", name)
		}
	}
	if _, err := Listen(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Listen nowhere: %v", err)
	}
}

// stranger is another user's process, which has even got hold of the token.
func stranger() int {
	if _, err := Dial(context.Background(), os.Args[1], token); err != nil {
		fmt.Println(err)
		return 0
	}
	return 1
}

func TestAnotherUser(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "paddock-control-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := newStub()
	serveIn(t, dir, h)
	// A directory and a socket that are open by mistake: the peer's user still counts.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "control"), 0o666)); err != nil {
		t.Fatal(err)
	}
	cmd := testproc.Command(t, testproc.Program(t, "stranger"), dir)
	testproc.AsUser(t, cmd, testproc.Nobody)
	out, err := cmd.CombinedOutput()
	// Where root serves, the stranger speaks; where we are the stranger's user it is none.
	if os.Geteuid() == 0 && (err != nil || !strings.Contains(string(out), "belongs to another user")) {
		t.Errorf("the stranger: %v\n%s", err, out)
	}
	if h.subscribers() != 0 || len(h.kills) != 0 {
		t.Error("the stranger was heard")
	}
}

// A peer that is shown out before it says anything is told why all the same.
func TestLastWordBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	c := NewClient(ours)
	defer c.Close()
	if _, err := io.WriteString(theirs, `{"error":{"code":"unauthorized","message":"this run belongs to another user"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	var told *Error
	if _, err := c.Status(t.Context()); !errors.As(err, &told) || told.Code != wire.Unauthorized {
		t.Errorf("got %v", err)
	}
}

// Who connects and says nothing is shown out.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := newSession(ours, newStub())
		s.peer = func(net.Conn) (uint32, error) { return uint32(os.Geteuid()), nil }
		begin := time.Now()
		if err := s.serve(t.Context(), token); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("serve = %v", err)
		}
		if took := time.Since(begin); took != helloTime {
			t.Errorf("it took %v", took)
		}
	})
}

func FuzzServe(f *testing.F) {
	hello := `{"verb":"hello","protocol":1,"token":"` + token + `"}` + "\n"
	for _, s := range []string{"", "\n", "{}", hello, hello + `{"id":1,"verb":"status"}` + "\n", hello + `{"id":1,"verb":"subscribe"}` + "\n" + `{"id":2,"verb":"kill","kill":{"kind":"kill","signal":"KILL"}}` + "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, secret := range []string{"", token} {
			ours, theirs := pair(t)
			h := newStub()
			served := make(chan struct{})
			go func() {
				defer close(served)
				newSession(ours, h).serve(context.Background(), secret)
			}()
			go func() {
				theirs.Write(input)
				theirs.CloseWrite()
			}()
			in := bufio.NewReader(theirs)
			for {
				line, err := in.ReadBytes('\n')
				if err != nil {
					break
				}
				if _, err := wire.DecodeReply(line); err != nil {
					t.Errorf("%q was answered with %q: %v", input, line, err)
				}
			}
			<-served
			theirs.Close()
			if secret != "" && !strings.Contains(string(input), token) && len(h.kills)+h.renewed > 0 {
				t.Errorf("%q was heard without the token", input)
			}
			if h.subscribers() != 0 {
				t.Errorf("%q left a subscription", input)
			}
		}
	})
}

// Who follows is told events, and the last one, without having asked, and can ask for
// anything else.
func TestAFollowerIsTold(t *testing.T) {
	testproc.Leaks(t)
	ours, theirs := net.Pipe()
	h := newStub()
	served := make(chan error, 1)
	go func() { served <- ServeStarter(t.Context(), ours, h, true) }()
	told := make(chan Event, 8)
	c := NewFollower(theirs, func(e Event) { told <- e })
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	h.tell(t, Event{Kind: EventStarted})
	if e := <-told; e.Kind != EventStarted {
		t.Errorf("%+v", e)
	}
	if _, err := c.Subscribe(t.Context()); err == nil {
		t.Error("it could subscribe once more")
	}
	h.tell(t, Event{Kind: EventSettled, Kept: true})
	if e := <-told; e.Kind != EventSettled || !e.Kept {
		t.Errorf("%+v", e)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
