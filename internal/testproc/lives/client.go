package lives

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Client asks whichever server is there, as who has Token: that of Keeper, or the one
// that At says.
type Client struct {
	Keeper *Keeper
	At     func() string
	Token  string
	HTTP   http.Client
	// Quiet is how long a reader waits for an event before it goes, and comes back, and a
	// fifth of how long any other answer may take; zero is for ever. Where connections are
	// cut nobody says so to who waits.
	Quiet time.Duration
	// Pause is how long it waits before it asks again; zero is for a moment.
	Pause time.Duration
	// Heard is told every answer to what is asked; nil means nobody is.
	Heard func(status int, answer []byte)
}

// where is the URL of a server.
func (c *Client) where(ctx context.Context) (string, error) {
	if c.At != nil {
		return c.At(), nil
	}
	return c.Keeper.URL(ctx)
}

// told says that the server said something.
func (c *Client) told() {
	if c.Keeper != nil {
		c.Keeper.Told()
	}
}

// pause is how long a client waits before it asks again.
const pause = 20 * time.Millisecond

func (c *Client) rest(ctx context.Context) error {
	timer := time.NewTimer(cmp.Or(c.Pause, pause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) request(ctx context.Context, method, path, body string, header map[string]string) (*http.Response, error) {
	url, err := c.where(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.Token)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return c.HTTP.Do(r)
}

// Ask asks until there is an answer that isn't a server's fault. The same key makes
// it the same request, however often the server has ended in between.
func (c *Client) Ask(ctx context.Context, method, path, key, body string) (status int, answer []byte, err error) {
	header := map[string]string{}
	if key != "" {
		header["Idempotency-Key"] = key
	}
	for {
		if status, answer, err = c.once(ctx, method, path, body, header); err == nil {
			if c.Heard != nil {
				c.Heard(status, answer)
			}
			c.told() // a fault, too: nobody has to stay who has nothing else to say
			if status < 500 && status != http.StatusTooManyRequests {
				return status, answer, nil
			}
		}
		if restErr := c.rest(ctx); restErr != nil {
			return status, answer, errors.Join(restErr, err, fmt.Errorf("the last answer was %d %s", status, answer))
		}
	}
}

func (c *Client) once(ctx context.Context, method, path, body string, header map[string]string) (int, []byte, error) {
	if c.Quiet > 0 {
		limited, cancel := context.WithTimeout(ctx, 5*c.Quiet)
		defer cancel()
		ctx = limited
	}
	a, err := c.request(ctx, method, path, body, header)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(a.Body)
	return a.StatusCode, answer, errors.Join(err, a.Body.Close(), ctx.Err()) // who went was answered nothing
}

// Invite has the server write something into its database, and returns what must be
// there from then on: the invitation's id.
func (c *Client) Invite(ctx context.Context) (id string, err error) {
	status, answer, err := c.Ask(ctx, http.MethodPost, "/api/v1/invitations", "", `{"role":"operator"}`)
	var made struct {
		Invitation struct {
			ID string `json:"id"`
		} `json:"invitation"`
	}
	if err == nil && (status != http.StatusCreated || json.Unmarshal(answer, &made) != nil || made.Invitation.ID == "") {
		err = fmt.Errorf("inviting somebody: %d %s", status, answer)
	}
	return made.Invitation.ID, err
}

// Invited says which of the invitations the server doesn't have.
func (c *Client) Invited(ctx context.Context, ids []string) error {
	status, answer, err := c.Ask(ctx, http.MethodGet, "/api/v1/invitations", "", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("invitations: %d %s", status, answer)
	}
	for _, id := range ids {
		if !bytes.Contains(answer, []byte(strconv.Quote(id))) {
			err = errors.Join(err, fmt.Errorf("%s was made, and isn't there", id))
		}
	}
	return err
}

// A Story is what the events of a run told.
type Story struct {
	Streams map[string][]byte
	Last    int64
	// State and Outcome are of the end.
	State   string
	Outcome json.RawMessage
	// Connections is how many it took.
	Connections int
}

// event is the data of any event, as far as we look at it.
type event struct {
	Run      string          `json:"run"`
	Seq      int64           `json:"seq"`
	Until    int64           `json:"until"`
	State    string          `json:"state"`
	Outcome  json.RawMessage `json:"outcome"`
	Stream   string          `json:"stream"`
	Offset   int64           `json:"offset"`
	Length   int64           `json:"length"`
	Encoding string          `json:"encoding"`
	Content  string          `json:"content"`
}

// Follow reads a run's events to its end, over as many connections as it takes; after
// each event leave says whether to go and come back. An event that isn't the next one
// is an error: none may be missing, none may come twice.
func (c *Client) Follow(ctx context.Context, run string, leave func() bool) (*Story, error) {
	s := &Story{Streams: map[string][]byte{}}
	for s.State == "" {
		s.Connections++
		if err := c.connection(ctx, run, s, leave); err != nil {
			return s, err
		}
		if s.State == "" {
			if err := c.rest(ctx); err != nil {
				return s, err
			}
		}
	}
	// Who comes back after the end is told that there is no more.
	for {
		status, answer, err := c.once(ctx, http.MethodGet, "/api/v1/runs/"+run+"/events", "", map[string]string{"Last-Event-ID": strconv.FormatInt(s.Last, 10)})
		if err == nil && status < 500 {
			if status == http.StatusOK && c.At != nil && !bytes.Contains(answer, []byte("event:")) {
				continue // its machine is back only now; there was no more
			}
			if status != http.StatusNoContent || len(answer) > 0 {
				return s, fmt.Errorf("after the end: %d %s", status, answer)
			}
			return s, nil
		}
		if err := c.rest(ctx); err != nil {
			return s, err
		}
	}
}

// connection reads over one connection. That it breaks is no error.
func (c *Client) connection(ctx context.Context, run string, s *Story, leave func() bool) error {
	header := map[string]string{}
	if s.Last > 0 {
		header["Last-Event-ID"] = strconv.FormatInt(s.Last, 10)
	}
	whole := ctx
	quiet := func() {}
	if c.Quiet > 0 {
		limited, leave := context.WithCancel(whole)
		defer leave()
		timer := time.AfterFunc(c.Quiet, leave)
		defer timer.Stop()
		ctx, quiet = limited, func() { timer.Reset(c.Quiet) }
	}
	a, err := c.request(ctx, http.MethodGet, "/api/v1/runs/"+run+"/events", "", header)
	if err != nil {
		return whole.Err()
	}
	defer func() { _ = a.Body.Close() }() // it may be broken
	if ctx.Err() != nil {
		return whole.Err() // we went: what a server then says to nobody can still come back to us
	}
	if a.StatusCode != http.StatusOK {
		if a.StatusCode >= 500 || a.StatusCode == http.StatusTooManyRequests {
			c.told()
			return nil
		}
		return fmt.Errorf("the events of %s: %s", run, a.Status)
	}
	lines := bufio.NewReaderSize(a.Body, 1<<16)
	for {
		id, kind, data, err := next(lines)
		if err != nil {
			return whole.Err() // a part of an event is no event
		}
		if kind == "" || id == "" && kind != "truncated" {
			continue // a comment, or a hint, as that the server gives up
		}
		quiet()
		if err := s.take(run, id, kind, data); err != nil {
			return err
		}
		c.told()
		if s.State != "" || leave() {
			return nil
		}
	}
}

// next reads up to the empty line that ends an event.
func next(r *bufio.Reader) (id, kind string, data []byte, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return "", "", nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "":
			if len(line) == 0 {
				return id, kind, data, nil
			}
		case "id":
			id = string(value)
		case "event":
			kind = string(value)
		case "data":
			data = append(data, value...)
		}
	}
}

// take adds one event, which must be the next.
func (s *Story) take(run, id, kind string, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("event %s of %s: %w: %.200s", id, run, err, data)
	}
	if e.Run != run || e.Seq != s.Last+1 || e.Until < e.Seq || id != strconv.FormatInt(e.Until, 10) {
		return fmt.Errorf("after event %d of %s comes %s: %.200s", s.Last, run, id, data)
	}
	s.Last = e.Until
	switch kind {
	case "state":
		return nil
	case "end":
		s.State, s.Outcome = e.State, e.Outcome
		return nil
	case "output":
		text := []byte(e.Content)
		if e.Encoding == "base64" {
			var err error
			if text, err = base64.StdEncoding.DecodeString(e.Content); err != nil {
				return fmt.Errorf("event %s of %s: %w", id, run, err)
			}
		}
		have := s.Streams[e.Stream]
		if e.Offset != int64(len(have)) || e.Length != int64(len(text)) || e.Until-e.Seq+1 != e.Length {
			return fmt.Errorf("%s of %s has %d bytes, and then comes %.200s", e.Stream, run, len(have), data)
		}
		s.Streams[e.Stream] = append(have, text...)
		return nil
	}
	return fmt.Errorf("event %s of %s is a %q: %.200s", id, run, kind, data)
}
