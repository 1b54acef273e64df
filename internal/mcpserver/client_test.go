package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"paddock/internal/testproc"

	"paddock/internal/mcpserver/answer"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A client writes lines and reads lines; it knows no more of MCP than a test
// tells it, so that it can say what no library would.
type client struct {
	t      testing.TB
	in     *io.PipeWriter
	served chan error
	cancel context.CancelFunc
	log    *logged

	mu      sync.Mutex
	lastID  int
	answers map[string]chan message
	stray   chan message // notifications, and answers to nothing
}

// A message is any line of the server.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data,omitzero"`
	} `json:"error,omitzero"`
	raw string
}

// A toolResult is what tools/call answers.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured jsontext.Value `json:"structuredContent"`
	IsError    bool           `json:"isError"`
	ResultType string         `json:"resultType"`
	Meta       jsontext.Value `json:"_meta,omitzero"`
}

// logged collects the server's log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// dial serves cfg to a new client without greeting.
func dial(t testing.TB, cfg Config) *client {
	t.Helper()
	if cfg.Principal.ID == "" {
		cfg.Principal = me
	}
	c := &client{t: t, served: make(chan error, 1), log: &logged{}, answers: map[string]chan message{}, stray: make(chan message, 1000)}
	cfg.Log = slog.New(slog.NewTextHandler(c.log, nil))
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	c.in = clientOut
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	read := make(chan struct{})
	go func() { c.served <- Serve(ctx, cfg, serverIn, serverOut) }()
	go func() {
		defer close(read)
		c.read(clientIn)
	}()
	t.Cleanup(func() {
		cancel()
		c.in.Close()
		<-read
		select {
		case <-c.served:
		default:
		}
	})
	return c
}

// connect serves cfg to a new client that has greeted.
func connect(t testing.TB, cfg Config) *client {
	t.Helper()
	c := dial(t, cfg)
	c.greet("2025-06-18")
	return c
}

func (c *client) greet(version string) message {
	c.t.Helper()
	m := c.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"0"}}`, version))
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (c *client) read(r io.Reader) {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			if line != "" {
				c.t.Errorf("the server wrote an unfinished line %q", line)
			}
			return
		}
		var batch []jsontext.Value
		if strings.HasPrefix(line, "[") {
			if err := json.Unmarshal([]byte(line), &batch); err != nil {
				c.t.Errorf("the server wrote %q: %v", line, err)
			}
			c.deliver(message{raw: line})
		} else {
			batch = []jsontext.Value{jsontext.Value(line)}
		}
		for _, b := range batch {
			m := message{raw: string(b)}
			if err := json.Unmarshal(b, &m); err != nil || m.Version != "2.0" {
				c.t.Errorf("the server wrote something that isn't protocol: %q: %v", b, err)
				continue
			}
			c.deliver(m)
		}
	}
}

func (c *client) deliver(m message) {
	c.mu.Lock()
	answer := c.answers[string(m.ID)]
	delete(c.answers, string(m.ID))
	c.mu.Unlock()
	if answer != nil {
		answer <- m
		return
	}
	c.stray <- m
}

// send writes one line as it is.
func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Errorf("sending: %v", err)
	}
}

// expect returns where the answer to an id will arrive.
func (c *client) expect(id string) chan message {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := make(chan message, 1)
	c.answers[id] = answer
	return answer
}

// begin sends a request and returns its id and where its answer will arrive.
func (c *client) begin(method, params string) (id string, answer chan message) {
	c.t.Helper()
	c.mu.Lock()
	c.lastID++
	id = fmt.Sprint(c.lastID)
	c.mu.Unlock()
	answer = c.expect(id)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, answer
}

func (c *client) ask(method, params string) message {
	c.t.Helper()
	_, answer := c.begin(method, params)
	return <-answer
}

func callParams(tool, args string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

// call calls a tool and returns its result.
func (c *client) call(tool, args string) toolResult {
	c.t.Helper()
	return c.result(c.ask("tools/call", callParams(tool, args)))
}

func (c *client) result(m message) toolResult {
	c.t.Helper()
	if m.Error != nil {
		c.t.Fatalf("protocol error %d: %s", m.Error.Code, m.Error.Message)
	}
	return parse[toolResult](c.t, m.Result)
}

// ok calls a tool that must work and decodes what it answered.
func ok[T any](c *client, tool, args string) T {
	c.t.Helper()
	r := c.call(tool, args)
	if r.IsError {
		c.t.Fatalf("%s %s: %s", tool, args, r.Content[0].Text)
	}
	return parse[T](c.t, r.Structured)
}

// no calls a tool that must refuse and decodes the refusal.
func no(c *client, tool, args string) answer.Refusal {
	c.t.Helper()
	r := c.call(tool, args)
	if !r.IsError {
		c.t.Fatalf("%s %s isn't refused: %s", tool, args, r.Content[0].Text)
	}
	return parse[answer.Refusal](c.t, r.Structured)
}

func parse[T any](t testing.TB, b []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("parsing %s: %v", b, err)
	}
	return v
}

// leave closes the client's side and returns what Serve returned.
func (c *client) leave() error {
	c.in.Close()
	return <-c.served
}
