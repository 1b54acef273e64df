package ndjson

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/wire"
)

const (
	// lastWords is how long answers may take after the client closed its side.
	lastWords = 15 * time.Second
	// farewell is how long answers may take after we were asked to end.
	farewell = 2 * time.Second
	// mostPending is how many calls may be unanswered before reading stops, so
	// that a client that sends and never reads can't fill our memory.
	mostPending = 1024
)

// A Transport connects In and Out. All fields but Gone and Log are required.
type Transport struct {
	In  io.ReadCloser
	Out io.WriteCloser
	// MaxLine is the most bytes of a line that is decoded.
	MaxLine int
	// ToolError makes the result of a tool call whose line can't be accepted.
	ToolError func(message string) any
	// Gone is called once when the client has closed its side, before the
	// calls in flight are waited for. It must not block. Nil means nothing.
	Gone func()
	// Log receives what was refused, without the message itself.
	Log *slog.Logger
}

// Connect starts reading. It is called once. The connection ends soon after ctx
// does: a client that doesn't read must not keep us.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &conn{
		Transport: t,
		lines:     make(chan line),
		closed:    make(chan struct{}),
		pending:   map[jsonrpc.ID]*batch{},
		fewer:     make(chan struct{}, 1),
		out:       make(chan struct{}, 1),
	}
	context.AfterFunc(ctx, func() { c.closeAfter(farewell) })
	go readLines(t.In, t.MaxLine, c.lines, c.closed)
	return c, nil
}

// A conn is one connection. Read is called by one goroutine, Write by many.
type conn struct {
	*Transport
	lines chan line
	queue []jsonrpc.Message // accepted and not yet returned by Read

	closed    chan struct{}
	closeOnce sync.Once
	closeErr  error

	out chan struct{} // has a token while a line is written

	mu      sync.Mutex            // guards pending and its batches
	pending map[jsonrpc.ID]*batch // calls not yet answered; nil unless in a batch
	fewer   chan struct{}         // has a token when pending has shrunk
}

// SessionID is empty: there is one session, this connection.
func (c *conn) SessionID() string { return "" }

// Read returns the next message that is acceptable and answers the others.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			return msg, nil
		}
		if err := c.await(ctx, mostPending); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if l.err != nil {
				return nil, c.end(ctx, l.err)
			}
			if err := c.accept(l); err != nil {
				return nil, err
			}
		}
	}
}

// end waits until the calls in flight are answered and returns why reading
// ended: io.EOF for a client that closed its side.
func (c *conn) end(ctx context.Context, why error) error {
	if c.Gone != nil {
		c.Gone()
	}
	defer c.closeAfter(lastWords)()
	if err := c.await(ctx, 1); err != nil {
		return err
	}
	return why
}

// closeAfter closes the connection after d unless stop is called before.
func (c *conn) closeAfter(d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, func() {
		if err := c.Close(); err != nil {
			c.Log.Warn("closing the connection", "err", err)
		}
	}).Stop
}

// await returns when fewer than n calls are unanswered.
func (c *conn) await(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		unanswered := len(c.pending)
		c.mu.Unlock()
		if unanswered < n {
			return nil
		}
		select {
		case <-c.fewer:
		case <-c.closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// accept queues the messages of a line or answers why it doesn't. Its error is
// that of writing: then nothing more can be said to this client.
func (c *conn) accept(l line) error {
	if l.long {
		return c.complain(&l.env, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message is longer than %d bytes; put large text in a file and name the file", c.MaxLine))
	}
	if len(l.data) == 0 {
		return nil
	}
	l.env.Write(l.data)
	if why, code := wire.Check(l.data); why != "" {
		if code == jsonrpc.CodeParseError {
			l.env = wire.Envelope{} // what isn't JSON has no id either
		}
		return c.complain(&l.env, code, why)
	}
	if l.data[0] == '[' {
		return c.acceptBatch(l.data)
	}
	msg, err := wire.Decode(l.data, &l.env)
	if err != nil {
		return c.complain(&l.env, jsonrpc.CodeInvalidRequest, err.Error())
	}
	if !c.expect(msg, nil) {
		return c.complain(&wire.Envelope{}, jsonrpc.CodeInvalidRequest, "the id is that of a call still in flight")
	}
	c.queue = append(c.queue, msg)
	return nil
}

// expect notes that a call wants an answer; false means that its id is taken.
func (c *conn) expect(msg jsonrpc.Message, in *batch) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.pending[req.ID]; taken {
		return false
	}
	c.pending[req.ID] = in
	if in != nil {
		in.waiting++
	}
	return true
}

// complain answers a line that isn't passed on. A tool call's answer is a tool
// result, since models see those and few clients show them protocol errors.
func (c *conn) complain(env *wire.Envelope, code int64, why string) error {
	c.Log.Warn("refused a message", "why", why, "method", env.Method())
	id := env.ID()
	if id.IsValid() && env.Method() == wire.ToolCall {
		result, err := json.Marshal(c.ToolError(why))
		if err != nil {
			return err
		}
		return c.write(&jsonrpc.Response{ID: id, Result: result})
	}
	if id.IsValid() {
		return c.write(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: why}})
	}
	// The library leaves out an id that isn't there; JSON-RPC wants null.
	body, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      *int           `json:"id"`
		Error   map[string]any `json:"error"`
	}{"2.0", nil, map[string]any{"code": code, "message": why}}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.writeLine(body)
}

// Write sends a message of the library.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.write(msg)
	}
	// Answered means written: the end of reading waits for that.
	defer c.answered(resp.ID)
	c.mu.Lock()
	in := c.pending[resp.ID]
	c.mu.Unlock()
	if in != nil {
		return c.writeBatch(in, resp)
	}
	return c.write(resp)
}

func (c *conn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	select {
	case c.fewer <- struct{}{}:
	default:
	}
}

func (c *conn) write(msg jsonrpc.Message) error {
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.writeLine(body)
}

// writeLine writes one line, or gives up when the connection is closed: a write
// that the client doesn't read can't be interrupted otherwise.
func (c *conn) writeLine(body []byte) error {
	select {
	case c.out <- struct{}{}:
	case <-c.closed:
		return io.ErrClosedPipe
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Out.Write(append(body, '\n'))
		<-c.out
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// Close ends reading and writing. It may be called again.
func (c *conn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.closeErr = errors.Join(c.In.Close(), c.Out.Close())
	})
	return c.closeErr
}
