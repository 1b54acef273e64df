package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"paddock/internal/control/wire"
)

// A Client asks one supervisor. Its methods may be called concurrently.
type Client struct {
	conn    net.Conn
	writing sync.Mutex // one line at a time
	reading sync.WaitGroup
	closed  chan struct{} // closed by Close
	closing sync.Once
	done    chan struct{} // closed when nothing more can be read

	mu         sync.Mutex // guards what follows
	last       int64
	waiting    map[int64]chan wire.Reply
	err        error       // why reading ended
	word       error       // the last that the peer said of the whole connection
	events     chan Event  // what the supervisor sends, to the relay
	each       func(Event) // or to this
	subscribed bool
	ended      bool // Close was called: no goroutine may be added
}

// NewClient speaks over conn, whose peer needs no hello, and takes it over.
func NewClient(conn net.Conn) *Client {
	return newClient(conn, nil)
}

// NewFollower is NewClient for who is told events without asking, see [ServeStarter]. Each
// is called as by Follow, until Done.
func NewFollower(conn net.Conn, each func(Event)) *Client {
	return newClient(conn, each)
}

func newClient(conn net.Conn, each func(Event)) *Client {
	c := &Client{
		conn: conn, closed: make(chan struct{}), done: make(chan struct{}),
		waiting: map[int64]chan wire.Reply{}, events: make(chan Event),
		subscribed: each != nil, each: each,
	}
	c.reading.Go(c.read)
	return c
}

// Done is closed when the peer is gone or the client is closed.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the conversation, and with it all calls and subscriptions.
func (c *Client) Close() error {
	var err error
	c.closing.Do(func() {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
		close(c.closed)
		err = c.conn.Close()
	})
	c.reading.Wait()
	return err
}

// Status returns what the supervisor says of its run.
func (c *Client) Status(ctx context.Context) (Status, error) {
	r, err := c.call(ctx, wire.Request{Verb: wire.VerbStatus})
	if err != nil {
		return Status{}, err
	}
	if r.Status == nil {
		return Status{}, errors.New("control: the supervisor's answer has no status")
	}
	return *r.Status, nil
}

// Kill asks for the end of the run. It returns when the supervisor has taken
// note, not when the run is over.
func (c *Client) Kill(ctx context.Context, k Kill) error {
	_, err := c.call(ctx, wire.Request{Verb: wire.VerbKill, Kill: &k})
	return err
}

// Renew tells the supervisor that its run is still wanted, and, if it is leased, until
// which time of the boot clock it may go on at least.
func (c *Client) Renew(ctx context.Context, until time.Duration) error {
	r := wire.Request{Verb: wire.VerbRenew}
	if until > 0 {
		r.Renewal = &wire.Renewal{Until: int64(until)}
	}
	_, err := c.call(ctx, r)
	return err
}

// Type asks something of the run's terminal. An [*Error] says why it isn't done.
func (c *Client) Type(ctx context.Context, t Typed) error {
	_, err := c.call(ctx, wire.Request{Verb: wire.VerbStdin, Typed: &t})
	return err
}

// Subscribe returns events from now on. A slow reader misses output events that
// a later one replaces, and nothing else. The channel is closed when the peer
// is gone and all is read, and when ctx ends or the client is closed. A client
// can be subscribed once.
func (c *Client) Subscribe(ctx context.Context) (<-chan Event, error) {
	out := make(chan Event)
	if err := c.listen(ctx, out); err != nil {
		return nil, err
	}
	if _, err := c.call(ctx, wire.Request{Verb: wire.VerbSubscribe}); err != nil {
		return nil, err
	}
	return out, nil
}

// Follow is Subscribe for who does little with an event: each is called with it by the
// goroutine that reads, which saves two others. It must neither wait nor ask anything of
// the client. Ready is called when the supervisor has answered. Follow
// returns when the peer is gone, ctx ends or the client is closed.
func (c *Client) Follow(ctx context.Context, ready func(), each func(Event)) error {
	c.mu.Lock()
	switch {
	case c.ended:
		c.mu.Unlock()
		return net.ErrClosed
	case c.subscribed:
		c.mu.Unlock()
		return wire.Fault(wire.TooMany, "this connection is subscribed already")
	}
	c.subscribed, c.each = true, each
	c.mu.Unlock()
	if _, err := c.call(ctx, wire.Request{Verb: wire.VerbSubscribe}); err != nil {
		return err
	}
	ready()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return nil
	}
}

// listen relays events to out, from the first on that the supervisor sends.
func (c *Client) listen(ctx context.Context, out chan Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return net.ErrClosed
	case c.subscribed:
		return wire.Fault(wire.TooMany, "this connection is subscribed already")
	}
	c.subscribed = true
	stop := make(chan struct{})
	relayed := make(chan struct{})
	c.reading.Go(func() {
		defer close(out)
		wire.Relay(c.events, out, stop)
		close(relayed)
	})
	c.reading.Go(func() {
		select {
		case <-ctx.Done():
		case <-c.closed:
		case <-relayed:
		}
		close(stop)
		// Whoever stopped listening mustn't stop the reader of replies.
		for range c.events {
		}
	})
	return nil
}

// call sends r and waits for the answer.
func (c *Client) call(ctx context.Context, r wire.Request) (wire.Reply, error) {
	answer := make(chan wire.Reply, 1)
	c.mu.Lock()
	c.last++
	r.ID = c.last
	c.waiting[r.ID] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, r.ID)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, r); err != nil {
		return wire.Reply{}, err
	}
	select {
	case got := <-answer:
		return got, asError(got)
	case <-ctx.Done():
		return wire.Reply{}, ctx.Err()
	case <-c.done:
	}
	select {
	case got := <-answer: // the last thing it said
		return got, asError(got)
	default:
		return wire.Reply{}, c.reason()
	}
}

func asError(r wire.Reply) error {
	if r.Error != nil {
		return r.Error
	}
	return nil
}

// send writes r's line. A line that ctx cut short would garble the next, so the
// connection ends with it. That the peer is gone is found by reading, where a
// last word of it may still be.
func (c *Client) send(ctx context.Context, r wire.Request) error {
	line, err := wire.Encode(r)
	if err != nil {
		return err
	}
	if len(line) > wire.MaxLine {
		return wire.Fault(wire.Malformed, "the request is too long")
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	cut := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		c.conn.SetWriteDeadline(past)
		close(cut)
	})
	n, err := c.conn.Write(line)
	if !unwatch() {
		<-cut // or it would cut the next line
		c.conn.SetWriteDeadline(time.Time{})
	}
	if err == nil || n == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		c.conn.Close()
	}
	return nil
}

// read takes the supervisor's lines until the end, and only it closes done and
// events.
func (c *Client) read() {
	defer close(c.events)
	defer close(c.done)
	lines := wire.NewLines(c.conn)
	for {
		line, err := lines.Next(wire.MaxLine)
		var r wire.Reply
		if err == nil {
			r, err = wire.DecodeReply(line)
		}
		if err != nil {
			c.fail(err)
			return
		}
		c.deliver(r)
	}
}

func (c *Client) fail(err error) {
	if errors.Is(err, net.ErrClosed) {
		err = io.EOF
	}
	c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("control: the supervisor is gone: %w", err)
	if c.word != nil { // it said why, before anybody asked
		c.err = c.word
	}
}

func (c *Client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// deliver hands r to who waits for it. An error without a number is about the
// connection: everybody who waits gets it.
func (c *Client) deliver(r wire.Reply) {
	c.mu.Lock()
	listening, each := c.subscribed, c.each
	if r.Event == nil && r.ID == 0 && r.Error != nil {
		c.word = r.Error
	}
	for id, answer := range c.waiting {
		if r.Event == nil && (id == r.ID || r.ID == 0 && r.Error != nil) {
			select {
			case answer <- r:
			default: // answered twice: the first counts
			}
		}
	}
	c.mu.Unlock()
	if r.Event != nil && each != nil {
		each(*r.Event)
	} else if r.Event != nil && listening {
		c.events <- *r.Event // a relay listens until it is closed
	}
}
