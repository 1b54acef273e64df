// Package wire is one connection to a worker, over which a server asks, and how long and
// large things on it may be.
//
// # Limits
//
// What is asked, and of which worker, is package relay's.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/relay/wire/line"
)

// Prefix begins the path of every question.
const Prefix = "/v1/"

// Bounds of what either side takes from the other. They hold before anything is parsed.
const (
	MostQuestion = 64 << 10
	MostAnswer   = 16 << 20
	MostHeader   = 16 << 10
	mostStreams  = 1024
	frameBytes   = 64 << 10
)

// How long things may take.
const (
	// Quiet is after how long without a word from the other side it is asked for one,
	// and Pong how long it may take to give it.
	Quiet = 5 * time.Second
	Pong  = 5 * time.Second
	// Greet is for dialing, the upgrade and the first question, Ask for an answer that
	// isn't waited for.
	Greet = 10 * time.Second
	Ask   = 20 * time.Second
)

// Heartbeats are how either side finds out that the other is gone.
func Heartbeats() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: mostStreams, StrictMaxConcurrentRequests: true, MaxReadFrameSize: frameBytes,
		SendPingTimeout: Quiet, PingTimeout: Pong, WriteByteTimeout: Quiet + Pong,
	}
}

// OnlyHTTP2 is what is spoken.
func OnlyHTTP2() *http.Protocols {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true) // the connection below is TLS, or on loopback
	return &p
}

// A Link is one connection of a worker.
type Link struct {
	conn *line.Line
	http *http.ClientConn
}

// Open greets who is at the other end of a connection. life ends it.
func Open(ctx, life context.Context, conn *line.Line) (*Link, error) {
	once := make(chan net.Conn, 1)
	once <- conn
	t := &http.Transport{
		Protocols: OnlyHTTP2(), HTTP2: Heartbeats(), DisableCompression: true, MaxResponseHeaderBytes: MostHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return <-once, nil },
	}
	greet, cancel := context.WithTimeout(context.WithoutCancel(ctx), Greet)
	defer cancel()
	asks, err := t.NewClientConn(greet, "http", "worker:80")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &Link{conn, asks}
	stop := context.AfterFunc(life, func() { _ = conn.Close() })
	defer stop()
	if _, err := l.Send(greet, http.MethodGet, Prefix, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("it doesn't answer: %w", err), conn.Close())
	}
	return l, nil
}

// Close closes the connection.
func (l *Link) Close() error { return l.conn.Close() }

// Over is closed when the connection is.
func (l *Link) Over() <-chan struct{} { return l.conn.Gone }

// ErrBroken is of a connection, not of what was asked.
var ErrBroken = errors.New("the connection to the worker broke")

// Send asks once.
func (l *Link) Send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://worker"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	a, err := l.http.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, MostAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	case len(text) > MostAnswer:
		return nil, errors.New("the worker's answer is too long")
	case a.StatusCode == http.StatusOK:
		return text, nil
	}
	var refusal paddock.Refusal
	if a.StatusCode == http.StatusUnprocessableEntity && json.Unmarshal(text, &refusal) == nil && refusal.Code != "" {
		return nil, &refusal
	}
	return nil, fmt.Errorf("the worker answers %d; its log says why", a.StatusCode)
}

// Gone reports whether the connection is over, and sees to it that nobody gets it then.
// One that is about to end is given a moment to.
func (l *Link) Gone() bool {
	soon := time.NewTimer(20 * time.Millisecond)
	defer soon.Stop()
	select {
	case <-l.conn.Gone:
	case <-soon.C:
		if l.http.Err() == nil {
			return false
		}
	}
	_ = l.conn.Close() // of no use to anybody
	return true
}
