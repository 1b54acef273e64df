package forward

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// A body is the body of a client's request. It says "100 Continue" when it is
// first read, unless the answer has begun by then.
type body struct {
	from io.ReadCloser
	to   io.Writer

	mu       sync.Mutex // guards what follows
	expected bool       // the client waits for 100 Continue
	done     bool       // it was read to its end
}

func newBody(in *http.Request, client io.Writer) *body {
	return &body{
		from: in.Body, to: client, done: in.ContentLength == 0,
		expected: in.ProtoAtLeast(1, 1) && strings.EqualFold(in.Header.Get("Expect"), "100-continue"),
	}
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.invite(); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if errors.Is(err, io.EOF) {
		b.mu.Lock()
		b.done = true
		b.mu.Unlock()
	}
	return n, err
}

func (b *body) invite() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.expected {
		return nil
	}
	b.expected = false
	_, err := io.WriteString(b.to, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// Close leaves the client's connection open; the answer goes there.
func (b *body) Close() error { return nil }

// seal is called before the answer is written.
func (b *body) seal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = false
}

func (b *body) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}
