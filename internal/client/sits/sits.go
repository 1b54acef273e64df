// Package sits has somebody sit at the terminal of a run of a server, over WebSocket. A
// connection that breaks is made anew: what was printed goes on where it was, and what was
// typed and not answered is sent again, which types it once.
//
// # Limits
//
// What is typed while there is no connection waits, up to a bound; then nothing more is
// taken from who types.
package sits

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"paddock"
	"paddock/internal/app/attach"
	"paddock/internal/client"
)

const (
	protocol = "paddock.attach.1"
	// mostWaiting is how many things that were typed may be unanswered.
	mostWaiting = 64
	// mostMessage is more than a server sends.
	mostMessage = 1 << 20
	// patience is for how long a server that doesn't answer is asked.
	patience = time.Minute
	dialTime = 20 * time.Second
)

// A Server is one that is asked.
type Server struct {
	base, token string
	http        *http.Client
	wait        func(ctx context.Context, d time.Duration) error
}

// New returns the server at address, which is asked in the name of who has the token.
func New(address, token string) (*Server, error) {
	c, err := client.New(address, token) // which refuses what must not be
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second, Protocols: &http1}
	return &Server{base: strings.TrimRight(address, "/"), token: token, wait: client.Pause, http: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// A sitting is somebody at one terminal, over as many connections as it takes.
type sitting struct {
	*Server
	run paddock.RunID
	a   attach.Attachment
	at  int64 // in the output
	// heard is set when the server said something over this connection.
	heard bool

	mu      sync.Mutex
	hand    string
	size    paddock.TerminalSize
	done    int64            // the last number that was answered
	waiting []paddock.Typing // unanswered
	room    chan struct{}    // has one when something was answered
	again   chan struct{}    // has one when something is to be sent again
}

// Attach passes on what is printed until the run is over and all of it is, and has done what
// is typed meanwhile. When ctx ends, it returns; the run goes on.
func (s *Server) Attach(ctx context.Context, id paddock.RunID, a attach.Attachment) error {
	one := &sitting{Server: s, run: id, a: a, at: a.Offset, size: paddock.TerminalSize{Rows: 24, Columns: 80}, room: make(chan struct{}, 1), again: make(chan struct{}, 1)}
	since, delay := time.Now(), 100*time.Millisecond
	for {
		one.heard = false
		over, err := one.once(ctx)
		if over || ctx.Err() != nil {
			if err == nil {
				err = ctx.Err()
			}
			return err
		}
		if one.heard {
			since, delay = time.Now(), 100*time.Millisecond
		}
		if time.Since(since) > patience {
			return fmt.Errorf("the server %s: %w; the run goes on", s.base, err)
		}
		if err := s.wait(ctx, delay); err != nil {
			return err
		}
		delay = min(2*delay, 5*time.Second)
	}
}

// once is one connection. Over says that there is to be no other.
func (s *sitting) once(ctx context.Context) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		var refusal *paddock.Refusal
		return errors.As(err, &refusal) && !refusal.Retryable, err
	}
	defer conn.CloseNow() //nolint:errcheck // what it says of a connection that ended is no news
	conn.SetReadLimit(mostMessage)
	var typing sync.WaitGroup
	typing.Go(func() { s.types(ctx, conn) })
	over, err = s.hears(ctx, conn)
	cancel()
	typing.Wait()
	return over, err
}

func (s *sitting) dial(ctx context.Context) (*websocket.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	header := http.Header{}
	if s.token != "" {
		header.Set("Authorization", "Bearer "+s.token)
	}
	at := fmt.Sprintf("%s/api/v1/runs/%s/attach?offset=%d", s.base, s.run, s.at)
	asks, no := *s.http, &noted{under: s.http.Transport}
	asks.Transport = no
	conn, a, err := websocket.Dial(limited, at, &websocket.DialOptions{HTTPClient: &asks, HTTPHeader: header, Subprotocols: []string{protocol}, CompressionMode: websocket.CompressionDisabled}) //nolint:bodyclose // Dial closes it
	if err == nil {
		return conn, nil
	}
	if a != nil && a.StatusCode >= http.StatusBadRequest {
		var p struct {
			Refusal *paddock.Refusal `json:"refusal"`
		}
		if json.Unmarshal(no.text, &p) == nil && p.Refusal != nil {
			return nil, p.Refusal
		}
		return nil, fmt.Errorf("it answers %d where an upgrade to WebSocket was asked for", a.StatusCode)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // it says the whole address
		err = wrapped.Err
	}
	return nil, err
}

// A noted road keeps the text of an answer that is no upgrade: Dial hands on its first KiB,
// and half a refusal is none.
type noted struct {
	under http.RoundTripper
	text  []byte
}

func (n *noted) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := n.under.RoundTrip(r)
	if err != nil || a.StatusCode < http.StatusBadRequest {
		return a, err
	}
	n.text, err = io.ReadAll(io.LimitReader(a.Body, 64<<10))
	if err = errors.Join(err, a.Body.Close()); err != nil {
		return nil, err
	}
	a.Body = http.NoBody
	return a, nil
}

// A word is a text message, of either side.
type word struct {
	Type    string                `json:"type"`
	Hand    string                `json:"hand,omitempty"`
	Number  int64                 `json:"number,omitempty"`
	Size    *paddock.TerminalSize `json:"size,omitempty"`
	Refusal *paddock.Refusal      `json:"refusal,omitempty"`
}

// hears takes what the server says until the end of the connection.
func (s *sitting) hears(ctx context.Context, conn *websocket.Conn) (over bool, err error) {
	for {
		kind, b, err := conn.Read(ctx)
		if err != nil {
			return websocket.CloseStatus(err) == websocket.StatusPolicyViolation, err
		}
		s.heard = true
		if kind == websocket.MessageBinary {
			if err := s.printed(b); err != nil {
				return true, err
			}
			continue
		}
		var w word
		if err := json.Unmarshal(b, &w); err != nil {
			return true, fmt.Errorf("the server %s says what isn't understood: %w", s.base, err)
		}
		switch w.Type {
		case "done", "refused":
			if s.a.Piped && w.Refusal != nil && w.Refusal.Retryable {
				ring(s.again)
				continue
			}
			s.answered(w.Number)
			if w.Refusal != nil && s.a.Refused != nil {
				s.a.Refused(w.Refusal)
			}
		case "failed":
			if w.Refusal != nil {
				return true, w.Refusal
			}
			return true, errors.New("the server gave no reason")
		case "end":
			return true, nil
		}
	}
}

// printed passes on what comes after what was passed on before.
func (s *sitting) printed(b []byte) error {
	if len(b) < 8 {
		return fmt.Errorf("the server %s sends output that is nowhere", s.base)
	}
	at, b := int64(binary.BigEndian.Uint64(b)), b[8:]
	if at != s.at {
		return fmt.Errorf("the server %s sends output at %d where %d was asked for", s.base, at, s.at)
	}
	s.at += int64(len(b))
	_, err := s.a.Out.Write(b)
	return err
}

// answered forgets what was typed up to a number.
func (s *sitting) answered(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = max(s.done, number)
	for len(s.waiting) > 0 && s.waiting[0].Number <= number {
		s.waiting = s.waiting[1:]
	}
	ring(s.room)
}

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// most is how many things may be unanswered: what is to come after what wasn't typed yet
// waits for that.
func (s *sitting) most() int {
	if s.a.Piped {
		return 1
	}
	return mostWaiting
}

// types sends what waits for an answer, and then what is typed.
func (s *sitting) types(ctx context.Context, conn *websocket.Conn) {
	if s.resend(ctx, conn) != nil {
		return
	}
	for {
		s.mu.Lock()
		typed := s.a.Typed
		if len(s.waiting) >= s.most() {
			typed = nil
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-s.room:
		case <-s.again:
			if s.wait(ctx, attach.Again) != nil || s.resend(ctx, conn) != nil {
				return
			}
		case t, more := <-typed:
			s.mu.Lock()
			if !more {
				s.a.Typed = nil
				s.mu.Unlock()
				continue
			}
			if s.hand = t.Hand; t.Size != nil {
				s.size = *t.Size
			}
			s.waiting = append(s.waiting, t)
			s.mu.Unlock()
			if send(ctx, conn, t) != nil {
				return // it is sent again over the next connection
			}
		}
	}
}

// resend sends what waits for an answer.
func (s *sitting) resend(ctx context.Context, conn *websocket.Conn) error {
	s.mu.Lock()
	again := append([]paddock.Typing(nil), s.waiting...)
	if s.done > 0 { // says which attachment this is, and does nothing: that number was done
		again = append([]paddock.Typing{{Hand: s.hand, Number: s.done, Size: &s.size}}, again...)
	}
	s.mu.Unlock()
	for _, t := range again {
		if err := send(ctx, conn, t); err != nil {
			return err
		}
	}
	return nil
}

func send(ctx context.Context, conn *websocket.Conn, t paddock.Typing) error {
	if len(t.Input) > 0 {
		return conn.Write(ctx, websocket.MessageBinary, append(binary.BigEndian.AppendUint64(nil, uint64(t.Number)), t.Input...))
	}
	w := word{Type: "resize", Hand: t.Hand, Number: t.Number, Size: t.Size}
	if t.Take {
		w.Type = "take"
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, text)
}
