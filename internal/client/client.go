// Package client asks a server what its HTTP door is asked, by the verbs that the house
// itself has: what works with the one works with the other.
//
// # Limits
//
// Who asks is whoever the token is of; principals that are passed in are not looked at.
// Verbs that no server has aren't here. Nothing is asked twice but what only reads.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/client/jar"
	"paddock/internal/client/within"
)

const (
	// answerTime is how long an answer that isn't waited for may take.
	answerTime = 60 * time.Second
	mostAnswer = 64 << 20
)

// A Client asks one server. Its methods may be called concurrently. What a server
// refuses is a [*paddock.Refusal], as at home.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	// wait is how a client waits before it takes a stream up again.
	wait func(ctx context.Context, d time.Duration) error
}

// New returns a Client of the server at address, as https://paddock.example.org. The
// token isn't sent over plain HTTP to another machine.
func New(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, refuse("%.100q is no address of a server; want one such as https://paddock.example.org.", address)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, refuse("%s is another machine, and http would show the token and all output on the way; want https.", u.Hostname())
	}
	if strings.ContainsAny(token, "\r\n\x00") {
		return nil, refuse("The token has characters that no token has.")
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: paddock.MaxWait + answerTime,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
	return &Client{
		base: &url.URL{Scheme: u.Scheme, Host: u.Host}, token: token, wait: Pause,
		http: &http.Client{Transport: transport, Jar: jar.For(token), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Over returns a Client of a handler in this process.
func Over(h http.Handler) *Client {
	return &Client{base: &url.URL{Scheme: "http", Host: "localhost"}, wait: Pause, http: &http.Client{Transport: within.Over(h)}}
}

func refuse(format string, args ...any) error {
	return paddock.Refused(paddock.InvalidRequest, format, args...)
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Pause waits for d or for the end of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close lets go of the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// send asks, and returns an answer that is one. The caller closes its body.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var data io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		data = bytes.NewReader(text)
	}
	at := c.base.String() + "/api/v1/" + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, at, data)
	if err != nil {
		return nil, err
	}
	if keyed, ok := body.(*start); ok && keyed.key != "" {
		r.Header.Set("Idempotency-Key", keyed.key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	a, err := c.http.Do(r)
	var wrapped *url.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &wrapped): // it says the whole address, which is long
		return nil, fmt.Errorf("the server %s: %w", c.base.Host, wrapped.Err)
	case err != nil:
		return nil, fmt.Errorf("the server %s: %w", c.base.Host, err)
	case a.StatusCode < http.StatusMultipleChoices:
		return a, nil
	}
	defer a.Body.Close()
	return nil, c.problem(a.Status, a.Body)
}

// problem is what an answer says that is none.
func (c *Client) problem(status string, body io.Reader) error {
	var p struct {
		Detail  string           `json:"detail"`
		Refusal *paddock.Refusal `json:"refusal"`
	}
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return fmt.Errorf("the server %s answers %s, and isn't Paddock or isn't reached", c.base.Host, status)
	}
	if p.Refusal != nil {
		if p.Refusal.Code == paddock.Unauthenticated {
			p.Refusal.Hint = "Log in with paddock login, or set PADDOCK_TOKEN to a valid token."
		}
		return p.Refusal
	}
	return fmt.Errorf("the server %s answers %s: %s", c.base.Host, status, p.Detail)
}

// Ask sends and decodes the answer.
func (c *Client) Ask(ctx context.Context, method, path string, query map[string][]string, body, into any) error {
	limited, cancel := context.WithTimeout(ctx, paddock.MaxWait+answerTime)
	defer cancel()
	a, err := c.send(limited, method, path, url.Values(query), body)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("the answer of the server %s: %w", c.base.Host, err)
	}
	return nil
}

// Tell asks for what has no answer but that it is done.
func (c *Client) Tell(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, paddock.MaxWait+answerTime)
	defer cancel()
	a, err := c.send(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	return a.Body.Close()
}

// words are a query of what isn't zero.
type words url.Values

func (w words) text(name, s string) {
	if s != "" {
		w[name] = []string{s}
	}
}

func (w words) number(name string, n int64) {
	if n != 0 {
		w[name] = []string{strconv.FormatInt(n, 10)}
	}
}

func (w words) yes(name string, b bool) {
	if b {
		w[name] = []string{"true"}
	}
}

// inPath makes one part of a path of an id, whatever is in it.
func inPath[T ~string](id T) string { return url.PathEscape(string(id)) }
