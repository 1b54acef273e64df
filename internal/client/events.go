package client

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock"
)

// An Event is some consecutive events of a run, as docs/server.md has them.
type Event struct {
	Kind string `json:"-"` // state, status, output, truncated or end
	// Seq and Until are the numbers; zero for a hint.
	Seq   int64 `json:"seq"`
	Until int64 `json:"until"`
	// These are of output.
	Stream   paddock.Stream `json:"stream"`
	Offset   int64          `json:"offset"`
	At       time.Time      `json:"at"`
	Encoding string         `json:"encoding"`
	Content  string         `json:"content"`
	// State is the run's or its program's, Outcome is there at the end, Why where
	// output was removed.
	State   string           `json:"state"`
	Outcome *paddock.Outcome `json:"outcome"`
	Why     string           `json:"why"`
}

// Bytes are what an output event has.
func (e Event) Bytes() ([]byte, error) {
	if e.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(e.Content)
	}
	return []byte(e.Content), nil
}

const (
	firstByte = 3 // the number of the first byte of output
	mostLine  = 1 << 20
	mostTries = 10
	// silence is how long a server may say nothing at all.
	silence = 60 * time.Second
)

// Events gives each event of a run after a number to each, in order, until the end.
// A connection that breaks is made anew and taken up after the last number; that nothing
// new comes a few times in a row is an error.
func (c *Client) Events(ctx context.Context, id paddock.RunID, after int64, each func(Event) error) error {
	for tries := 0; ; tries++ {
		before := after
		err := c.stream(ctx, id, &after, each)
		var broken *brokenError
		switch {
		case !errors.As(err, &broken):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case after > before:
			tries = 0
		case tries >= mostTries:
			return broken.error
		}
		if err := c.wait(ctx, min(time.Second, 50*time.Millisecond<<tries)); err != nil {
			return err
		}
	}
}

// A brokenError says that a connection broke, which is no end.
type brokenError struct{ error }

func (b *brokenError) Unwrap() error { return b.error }

// stream reads one connection to its end; nil means that of the run.
func (c *Client) stream(ctx context.Context, id paddock.RunID, after *int64, each func(Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := c.send(ctx, http.MethodGet, "runs/"+inPath(id)+"/events", url.Values{"after": {strconv.FormatInt(*after, 10)}}, nil)
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) && !refusal.Retryable {
		return err
	}
	if err != nil {
		return &brokenError{err}
	}
	defer a.Body.Close()
	if a.StatusCode == http.StatusNoContent {
		return nil
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, mostLine)
	var kind, data string
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			kind = value
		case name == "data":
			data = value
		case lines.Text() == "" && kind != "":
			if err := c.take(kind, data, after, each); err != nil || kind == "end" {
				return err
			}
			kind, data = "", ""
		}
	}
	return &brokenError{errors.Join(fmt.Errorf("the stream of the server %s broke off", c.base.Host), lines.Err())}
}

// take holds an event to the rule and passes it on.
func (c *Client) take(kind, data string, after *int64, each func(Event) error) error {
	if kind == "error" {
		return c.problem("an error", strings.NewReader(data))
	}
	e := Event{Kind: kind}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return fmt.Errorf("an event of the server %s: %w", c.base.Host, err)
	}
	if e.Seq != 0 {
		if e.Seq != *after+1 || e.Until < e.Seq {
			return fmt.Errorf("the server %s sends the events %d to %d after %d", c.base.Host, e.Seq, e.Until, *after)
		}
		*after = e.Until
	}
	return each(e)
}

// Follow writes the bytes of one stream, or of both in order of arrival, from offset to
// w, until the run is settled and everything is written.
func (c *Client) Follow(ctx context.Context, p paddock.Principal, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error {
	if s != paddock.Combined {
		return c.pages(ctx, p, id, paddock.PageRequest{Stream: s, Offset: offset, Raw: true, Wait: paddock.Duration(30 * time.Second)}, w)
	}
	if offset < 0 {
		return refuse("The offset is negative.")
	}
	return c.Events(ctx, id, offset+firstByte-1, func(e Event) error {
		switch e.Kind {
		case "truncated":
			return paddock.Refused(paddock.Pruned, "%s", e.Why)
		case "output":
			return write(w, e)
		}
		return nil
	})
}

func write(w io.Writer, e Event) error {
	b, err := e.Bytes()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

func (c *Client) pages(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest, w io.Writer) error {
	for {
		page, err := c.Output(ctx, p, id, req)
		if err != nil {
			return err
		}
		if err := write(w, Event{Encoding: page.Encoding, Content: page.Content}); err != nil || page.EOF {
			return err
		}
		req.Offset = page.NextOffset
	}
}
