// Package sse sends the events of runs to one client as server-sent events.
//
// The id of an event is what the client sends back as Last-Event-ID to go on after it:
// for one run its number, for several RUN:NUMBER of each, separated by commas. A client
// that doesn't take what it is sent is closed after [Slow], and loses nothing by it: it
// comes back with the last id that it got. Comments keep connections open.
//
// # Limits
//
// Nothing is kept for a client beyond what is on its way: that is a page of one run, and
// the one before it. How long a client that reads slowly keeps those is for who counts
// streams to bound.
package sse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/internal/httpapi/feed"
)

// Heartbeat is how often something is sent when there is nothing to say, Slow how long
// a client may take to make room for more.
const (
	Heartbeat = 15 * time.Second
	Slow      = 20 * time.Second
)

// MostRuns is how many runs one client can follow over one connection.
const MostRuns = 32

// Options say how events are sent.
type Options struct {
	// Tick gives the heartbeats, and what ends them.
	Tick func(time.Duration) (<-chan time.Time, func())
	// Still is asked at each heartbeat whether the client may still have this.
	Still func(context.Context) error
	// Fault says an error in the middle as one line of JSON.
	Fault func(error) []byte
	// Several says that ids name runs, also where there is only one.
	Several bool
	// Slow is how long the client may take; zero means the constant Slow.
	Slow time.Duration
	// Done ends all sending when it is closed.
	Done <-chan struct{}
}

// A Cursor is how far a client has read a run.
type Cursor struct {
	Run   paddock.RunID
	After int64
}

// ParseCursors reads RUN or RUN:NUMBER, separated by commas.
func ParseCursors(s string) ([]Cursor, error) {
	var all []Cursor
	for word := range strings.SplitSeq(s, ",") {
		name, after, has := strings.Cut(word, ":")
		c := Cursor{}
		id, err := paddock.ParseRunID(name)
		if err != nil {
			return nil, paddock.Refused(paddock.InvalidRequest, "%.60q is no run; runs are named as RUN or RUN:NUMBER, separated by commas.", name)
		}
		c.Run = id
		if has {
			if c.After, err = feed.ParseAfter(after); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(all, func(o Cursor) bool { return o.Run == id }) {
			return nil, paddock.Refused(paddock.InvalidRequest, "The run %s is named twice.", id)
		}
		all = append(all, c)
		if len(all) > MostRuns {
			return nil, paddock.Refused(paddock.InvalidRequest, "More than %d runs are named.", MostRuns)
		}
	}
	return all, nil
}

// said is what one follower has to say next.
type said struct {
	messages []feed.Message
	err      error
}

// Serve sends what the followers get until all have ended, the client is gone or
// something fails. at are the cursors of the followers, in any order, and of runs that
// have nothing more to say.
func Serve(ctx context.Context, w http.ResponseWriter, followers []*feed.Follower, at []Cursor, opt Options) {
	ctx, cancel := context.WithCancel(ctx)
	c := &client{w: w, control: http.NewResponseController(w), at: at, several: opt.Several, slow: opt.Slow}
	if c.slow == 0 {
		c.slow = Slow
	}
	in := make(chan said)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	feed.TakeTurns(followers)
	for _, f := range followers {
		all.Go(func() {
			for {
				messages, err := f.Next(ctx)
				select {
				case in <- said{messages, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		})
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	c.write("retry: 1000\n\n")
	tick, stop := opt.Tick(Heartbeat)
	defer stop()
	for left := len(followers); left > 0 && c.flush(); {
		select {
		case s := <-in:
			switch {
			case errors.Is(s.err, io.EOF):
				left--
			case s.err != nil:
				c.fault(ctx, s.err, opt.Fault)
				return
			}
			for _, m := range s.messages {
				c.send(m)
			}
		case <-tick:
			if err := opt.Still(ctx); err != nil {
				c.fault(ctx, err, opt.Fault)
				return
			}
			c.write(":\n\n")
		case <-ctx.Done():
			return
		case <-opt.Done:
			return
		}
	}
}

// A client is who is sent to.
type client struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
	at      []Cursor
	several bool
	slow    time.Duration
}

func (c *client) write(s string) { c.buffer.WriteString(s) }

func (c *client) send(m feed.Message) {
	if m.Last > 0 {
		for i := range c.at {
			if c.at[i].Run == m.Run {
				c.at[i].After = m.Last
			}
		}
		c.write("id: ")
		c.write(c.id(m))
		c.write("\n")
	}
	c.write("event: " + m.Kind + "\ndata: ")
	c.buffer.Write(m.Data)
	c.write("\n\n")
}

func (c *client) id(m feed.Message) string {
	if !c.several {
		return strconv.FormatInt(m.Last, 10)
	}
	words := make([]string, len(c.at))
	for i, at := range c.at {
		words[i] = string(at.Run) + ":" + strconv.FormatInt(at.After, 10)
	}
	return strings.Join(words, ",")
}

// flush hands over what was written, and reports whether the client takes it.
func (c *client) flush() bool {
	deadline := time.Now().Add(c.slow)
	if err := c.control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	_, err := c.w.Write(c.buffer.Bytes())
	c.buffer.Reset()
	if c.buffer.Cap() > 1<<20 {
		c.buffer = bytes.Buffer{}
	}
	return err == nil && c.control.Flush() == nil
}

// fault says why this ends, if anybody still hears it.
func (c *client) fault(ctx context.Context, err error, say func(error) []byte) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	c.write("event: error\ndata: ")
	c.buffer.Write(say(err))
	c.write("\n\n")
	c.flush()
}
