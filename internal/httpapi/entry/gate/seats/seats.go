// Package seats lets callers sit at the terminals of runs, over WebSocket: output comes in
// binary messages that say where in it they are, so that a client that comes back goes on
// where it was; what is typed goes in binary messages that are numbered, so that it is typed
// once. docs/design/0077-a-terminal-of-ones-own.md tells more.
//
// # Limits
//
// Who may see a run is the house's to know. Nothing is kept for a client that doesn't read:
// what it gets is read when the message before has left, and a message that doesn't leave
// in time ends the connection. HTTP/1.1 only.
package seats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"paddock"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

// House is what is asked of the house.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error
}

// Config says what seats work with; all must be set.
type Config struct {
	// Seen is the house as far as the caller's credential is for it.
	Seen func(*entry.Call) (House, error)
	// Accounts and Runs count the connections of each, and bound them.
	Accounts, Runs Counter
	// Done is closed when the server closes.
	Done <-chan struct{}
	Tick func(time.Duration) (<-chan time.Time, func())
}

// A Counter holds one more for a name, if there is room, and says how to give it back.
type Counter interface {
	Take(name string) (release func(), ok bool)
}

const (
	// beat is how often a client is asked whether it is there, and its credential whether it
	// is what it was; answerTime is how long the client may take.
	beat       = 20 * time.Second
	answerTime = 20 * time.Second
	// leaveTime is how long a message may take to leave.
	leaveTime = 30 * time.Second
	// piece is how much is sent at once: less than a message may have, since as much is held
	// for each client that doesn't read.
	piece = 32 << 10
	// wait is how long the house is asked to wait for output.
	wait = 30 * time.Second
)

// Route adds the route.
func Route(in *entry.Entrance, cfg Config) {
	row := entry.NewRow(http.MethodGet, "runs/{id}/attach", "attachRun", "Sit at a run's terminal: an upgrade to WebSocket, "+Protocol, "runs", gate.RunsAttach)
	row.Media, row.Status = "application/octet-stream", http.StatusSwitchingProtocols
	row.In = reflect.TypeFor[request]()
	in.Route(row, func(c *entry.Call) error {
		return entry.Serve(c, func(ctx context.Context, in *request) error { return cfg.sit(ctx, c, in) })
	})
}

type request struct {
	ID     string `path:"id"`
	Offset int64  `query:"offset" doc:"From which byte of the output on"`
}

// sit checks what can be checked in the words of HTTP, and then speaks WebSocket.
func (cfg Config) sit(ctx context.Context, c *entry.Call, in *request) error {
	id, err := paddock.ParseRunID(in.ID)
	if err != nil {
		return paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
	}
	c.Note().Run = id
	if in.Offset < 0 {
		return paddock.Refused(paddock.InvalidRequest, "The offset is negative.")
	}
	house, err := cfg.Seen(c)
	if err != nil {
		return err
	}
	if _, err := house.Look(ctx, c.As(), id); err != nil {
		return err
	}
	if err := upgrades(c.Request); err != nil {
		return err
	}
	release, err := cfg.room(c.Caller.Name, id)
	if err != nil {
		return err
	}
	defer release()
	conn, err := websocket.Accept(c.ResponseWriter, c.Request, &websocket.AcceptOptions{Subprotocols: []string{Protocol}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		c.Fault(err) // it has been answered
		return nil
	}
	conn.SetReadLimit(MostMessage)
	s := &seat{cfg: cfg, conn: conn, call: c, house: house, run: id}
	s.serve(context.WithoutCancel(ctx), in.Offset)
	return nil
}

// room holds a connection of an account at a run's terminal, where there is one free.
func (cfg Config) room(account string, id paddock.RunID) (release func(), err error) {
	full := func(who string) error {
		r := paddock.Refused(paddock.Busy, "%s has as many connections at terminals as there may be, or all together have.", who)
		r.Hint = "Leave a terminal, and ask again."
		return r
	}
	own, ok := cfg.Accounts.Take(account)
	if !ok {
		return nil, full("The account")
	}
	at, ok := cfg.Runs.Take(string(id))
	if !ok {
		own()
		return nil, full("Run " + string(id))
	}
	return func() { at(); own() }, nil
}

// upgrades refuses what asks for no upgrade, and pages of others: a browser shows our cookie
// for them, too.
func upgrades(r *http.Request) error {
	if r.ProtoMajor != 1 || !strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade") || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || r.Header.Get("Sec-WebSocket-Version") != "13" {
		return paddock.Refused(paddock.InvalidRequest, "A seat at a terminal is an upgrade of HTTP/1.1 to WebSocket, version 13; this is none.")
	}
	if key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key")); err != nil || len(key) != 16 {
		return paddock.Refused(paddock.InvalidRequest, "The Sec-WebSocket-Key isn't 16 bytes in base 64.")
	}
	if !strings.Contains(","+strings.ReplaceAll(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), " ", "")+",", ","+Protocol+",") {
		return paddock.Refused(paddock.InvalidRequest, "What is spoken at a seat is %s; Sec-WebSocket-Protocol doesn't offer it.", Protocol)
	}
	asked := r.Clone(r.Context())
	asked.Method = http.MethodPost // it changes something, whatever the method is
	if err := http.NewCrossOriginProtection().Check(asked); err != nil {
		return paddock.Refused(paddock.Forbidden, "A page of another origin can't sit at a terminal.")
	}
	return nil
}

// A seat is one connection.
type seat struct {
	cfg   Config
	conn  *websocket.Conn
	call  *entry.Call
	house House
	run   paddock.RunID
}

// serve speaks until the run is over, the client leaves, or one side has reason to. Who has
// reason to says so to the client before anything is taken away: what is given up in the
// middle of a message ends the connection without a word.
func (s *seat) serve(ctx context.Context, offset int64) {
	defer s.conn.CloseNow() //nolint:errcheck // whatever there was to say has been said
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		s.hears(ctx)
	})
	all.Go(func() {
		defer cancel()
		s.beats(ctx)
	})
	if err := s.prints(ctx, offset); err != nil && ctx.Err() == nil && websocket.CloseStatus(err) == -1 && !errors.Is(err, context.DeadlineExceeded) {
		s.fault(err)
	}
	cancel()
	all.Wait()
}

// leave ends the connection, and says why.
func (s *seat) leave(code websocket.StatusCode, why string) {
	_ = s.conn.Close(code, why) // the client comes back, or doesn't
}

// fault ends it for a fault of ours.
func (s *seat) fault(err error) {
	s.call.Fault(err)
	s.leave(websocket.StatusInternalError, "the server's log says why")
}

// beats ends the connection when the server closes, the client is gone, or its credential
// isn't what it was.
func (s *seat) beats(ctx context.Context) {
	tick, stop := s.cfg.Tick(beat)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Done:
			s.leave(websocket.StatusGoingAway, "the server is closing; come back")
			return
		case <-tick:
		}
		if err := s.call.Still(); err != nil {
			s.leave(websocket.StatusPolicyViolation, "the session isn't what it was")
			return
		}
		limited, cancel := context.WithTimeout(ctx, answerTime)
		err := s.conn.Ping(limited)
		cancel()
		if err != nil {
			return
		}
	}
}

// hears has done what the client asks, one after the other, and says of each what came of it.
func (s *seat) hears(ctx context.Context) {
	hand := ""
	for {
		kind, b, err := s.conn.Read(ctx)
		if err != nil {
			return // it left, or said more than it may, which it is told
		}
		var t paddock.Typing
		if kind == websocket.MessageText {
			if t, err = read(b); err == nil {
				hand = t.Hand
			}
		} else {
			t, err = typed(hand, b)
		}
		if err != nil {
			s.leave(websocket.StatusPolicyViolation, err.Error())
			return
		}
		answer := Word{Type: Done, Number: t.Number}
		if err := s.house.Type(ctx, s.call.As(), s.run, t); err != nil && !errors.As(err, &answer.Refusal) {
			if ctx.Err() == nil {
				s.fault(err)
			}
			return
		}
		if answer.Refusal != nil {
			if answer.Type = Refused; answer.Refusal.Code == paddock.Away { // isn't answered: who comes back asks again
				s.leave(websocket.StatusTryAgainLater, "the machine that has the run isn't connected")
				return
			}
		}
		if err := s.say(ctx, answer); err != nil {
			return
		}
	}
}

// prints sends what is printed, from offset on, and at last how the run ended. While a
// message leaves, which may take its time, nothing is held but that message.
func (s *seat) prints(ctx context.Context, offset int64) error {
	for {
		message, next, over, err := s.read(ctx, offset)
		var refusal *paddock.Refusal
		if errors.As(err, &refusal) && refusal.Code != paddock.Away {
			err := s.say(ctx, Word{Type: Failed, Refusal: refusal})
			s.leave(websocket.StatusNormalClosure, "")
			return err
		}
		if refusal != nil {
			s.leave(websocket.StatusTryAgainLater, "the machine that has the run isn't connected")
			return nil //nolint:nilerr // the client was told
		}
		if err != nil {
			return err
		}
		if len(message) > 0 {
			if err := s.send(ctx, websocket.MessageBinary, message); err != nil {
				return err
			}
		}
		offset = next
		if over {
			run, err := s.house.Look(ctx, s.call.As(), s.run)
			if err != nil {
				return err
			}
			err = s.say(ctx, Word{Type: End, Run: &run})
			s.leave(websocket.StatusNormalClosure, "")
			return err
		}
	}
}

// read waits for what is printed from offset on, and returns it as it is sent, nothing if
// nothing was; next is where the next begins, and over says that there is none.
func (s *seat) read(ctx context.Context, offset int64) (message []byte, next int64, over bool, err error) {
	page, err := s.house.Output(ctx, s.call.As(), s.run, paddock.PageRequest{
		Stream: paddock.Stdout, Offset: offset, Limit: piece, Raw: true, Wait: paddock.Duration(wait),
	})
	if err != nil {
		return nil, 0, false, err
	}
	b := []byte(page.Content)
	if page.Encoding == "base64" {
		if b, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
			return nil, 0, false, err
		}
	}
	if len(b) > 0 {
		message = Numbered(page.Offset, b)
	}
	return message, page.NextOffset, page.EOF, nil
}

func (s *seat) say(ctx context.Context, w Word) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return s.send(ctx, websocket.MessageText, text)
}

// send sends one message, or ends the connection of a client that doesn't read.
func (s *seat) send(ctx context.Context, kind websocket.MessageType, b []byte) error {
	limited, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	return s.conn.Write(limited, kind, b)
}
