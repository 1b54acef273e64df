package streamable

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A stand is a door that some callers reach, by the name in their Authorization header.
type stand struct {
	t    *testing.T
	door *Door
	url  string
	beat chan time.Time
	now  atomic.Int64
	wait chan struct{} // what the tool "wait" waits for

	mu    sync.Mutex
	open  int // sessions and requests that haven't ended
	good  map[string]error
	build func(ctx context.Context) *mcp.Server
}

func open(t *testing.T, change func(*Config)) *stand {
	t.Helper()
	s := &stand{t: t, beat: make(chan time.Time), wait: make(chan struct{}), good: map[string]error{}}
	s.build = s.server
	s.now.Store(time.Now().UnixNano())
	cfg := Config{
		Limits: DefaultLimits(), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(0, s.now.Load()) },
		ToolError: func(why string) any {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: why}}}
		},
		Tick: func(d time.Duration) (<-chan time.Time, func()) {
			if d == sweepEvery {
				return nil, func() {}
			}
			return s.beat, func() {}
		},
	}
	cfg.Body = 64 << 10
	if change != nil {
		change(&cfg)
	}
	s.door = New(context.WithoutCancel(t.Context()), cfg)
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = server.URL
	t.Cleanup(func() {
		s.door.Close()
		server.Close()
		if n := s.opened(); n != 0 {
			t.Errorf("%d were opened and not ended", n)
		}
	})
	return s
}

func (s *stand) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *stand) serve(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("Authorization")
	owner, scope, _ := strings.Cut(name, "/")
	s.door.Serve(w, r, Caller{Owner: owner, Scope: scope,
		Still: func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.good[name]
		},
		Open: func(ctx context.Context, _ string) (Opened, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.open++
			return Opened{Server: s.build(ctx), Gone: func() {}, End: func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.open--
			}}, nil
		}})
}

// server has a tool that answers and one that waits, for its session at most.
func (s *stand) server(life context.Context) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "stand", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	schema := jsontext.Value(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo " + string(req.Params.Arguments)}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "quiet", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-s.wait:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "waiting"}); err != nil {
			return nil, err
		}
		select {
		case <-s.wait:
		case <-ctx.Done():
		case <-life.Done():
			return nil, errors.New("over")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil
	})
	return server
}

type got struct {
	*http.Response
	body string
}

// An ask is a request; what is empty is as clients send it.
type ask struct {
	method, who, session, version, body string
	change                              func(*http.Request)
	ctx                                 context.Context //nolint:containedctx // of this request
}

func (s *stand) begin(q ask) (*http.Response, error) {
	if q.method == "" {
		q.method = http.MethodPost
	}
	if q.ctx == nil {
		q.ctx = s.t.Context()
	}
	r, err := http.NewRequestWithContext(q.ctx, q.method, s.url, strings.NewReader(q.body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if q.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.who == "" {
		q.who = "ann"
	}
	r.Header.Set("Authorization", q.who)
	if q.session != "" {
		r.Header.Set(sessionHeader, q.session)
	}
	if q.version != "" {
		r.Header.Set(versionHeader, q.version)
	}
	if q.change != nil {
		q.change(r)
	}
	return http.DefaultClient.Do(r)
}

func (s *stand) do(q ask) got {
	s.t.Helper()
	a, err := s.begin(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return got{a, string(text)}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`

// greet begins a session.
func (s *stand) greet(who, version string) string {
	s.t.Helper()
	a := s.do(ask{who: who, body: fmt.Sprintf(hello, version)})
	id := a.Header.Get(sessionHeader)
	if a.StatusCode != http.StatusOK || id == "" {
		s.t.Fatalf("initialize: %d %s", a.StatusCode, a.body)
	}
	if a := s.do(ask{who: who, session: id, version: version, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}); a.StatusCode != http.StatusAccepted {
		s.t.Fatalf("initialized: %d %s", a.StatusCode, a.body)
	}
	return id
}

func call(tool string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"a":1}}}`
}

// now is a call of the revision without sessions.
func now(tool string) ask {
	return ask{version: single, body: strings.Replace(call(tool), `"arguments"`, meta+`,"arguments"`, 1), change: func(r *http.Request) {
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", tool)
	}}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}`

func (a got) wants(t *testing.T, status int, some ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%d %s, want %d", a.StatusCode, a.body, status)
	}
	for _, one := range some {
		if !strings.Contains(a.body, one) {
			t.Errorf("no %s in %s", one, a.body)
		}
	}
}

// Every revision is answered on the one path.
func TestRevisions(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		id := s.greet("ann", version)
		s.do(ask{session: id, version: version, body: call("echo")}).wants(t, 200, `"id":7`, `echo {\"a\":1}`)
		s.do(ask{session: id, body: call("echo")}).wants(t, 200, `echo {\"a\":1}`) // clients of old don't say it each time
	}
	s.do(now("echo")).wants(t, 200, `"id":7`, `echo {\"a\":1}`, `"resultType":"complete"`)
	s.do(ask{version: single, body: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + meta + `}}`, change: func(r *http.Request) {
		r.Header.Set("Mcp-Method", "server/discover")
	}}).wants(t, 200, `"supportedVersions":["2026-07-28","2025-11-25"`)
	if n := s.opened(); n != 4 {
		t.Errorf("%d sessions and requests are open", n)
	}
}

// A session is its owner's, with what the credential was good for.
func TestWhose(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann/all", "2025-11-25")
	for _, who := range []string{"bob/all", "ann/less", "ann", "ANN/all"} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			q := ask{method: method, who: who, session: id}
			if method == "POST" {
				q.body = call("echo")
			}
			a := s.do(q)
			a.wants(t, 404, "There is no such session")
			q.session = strings.Repeat("X", len(id))
			if b := s.do(q); b.body != a.body || b.StatusCode != a.StatusCode {
				t.Errorf("another's session is told from one that isn't there: %s %s", a.body, b.body)
			}
		}
	}
	s.do(ask{who: "ann/all", session: id, body: call("echo")}).wants(t, 200, "echo")
	s.do(ask{method: "DELETE", who: "ann/all", session: id}).wants(t, 204)
	s.do(ask{who: "ann/all", session: id, body: call("echo")}).wants(t, 404, "There is no such session")
	s.do(ask{method: "DELETE", who: "ann/all", session: id}).wants(t, 404)
	if n := s.opened(); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

// The end of a session ends what waits in it.
func TestEndOfWaiting(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann", "2025-11-25")
	a, err := s.begin(ask{session: id, version: "2025-11-25", body: call("wait")})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	in := bufio.NewReader(a.Body)
	until(t, in, "waiting")
	s.do(ask{method: "DELETE", session: id}).wants(t, 204)
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
}

func until(t *testing.T, in *bufio.Reader, word string) string {
	t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), word) {
		line, err := in.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			t.Fatalf("%v after %q", err, all.String())
		}
	}
	return all.String()
}

// An answer that was missed is there for who comes back, once more as it was.
func TestComingBack(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann", "2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	a, err := s.begin(ask{ctx: ctx, session: id, version: "2025-11-25", body: call("wait")})
	if err != nil {
		t.Fatal(err)
	}
	seen := until(t, bufio.NewReader(a.Body), "waiting")
	_, last, _ := strings.Cut(seen[:strings.LastIndex(seen, "data:")], "id: ")
	if at := strings.LastIndex(last, "id: "); at >= 0 {
		last = last[at+4:]
	}
	last = strings.TrimSpace(strings.SplitN(last, "\n", 2)[0])
	cancel()
	_ = a.Body.Close() // cut off
	close(s.wait)
	back := func(last string) ask {
		return ask{method: "GET", session: id, version: "2025-11-25", change: func(r *http.Request) { r.Header.Set(lastHeader, last) }}
	}
	answer := s.do(back(last))
	for answer.StatusCode == http.StatusConflict { // we don't know yet that the client is gone
		answer = s.do(back(last))
	}
	answer.wants(t, 200, `"id":7`, "waited")
	if strings.Contains(answer.body, "waiting") {
		t.Errorf("what was seen comes again: %s", answer.body)
	}
	s.do(back(last)).wants(t, 200, "waited")
	s.do(back("nonsense")).wants(t, 400, "Last-Event-ID")
	s.do(back("AAAA_0")).wants(t, 400, "replay")
	s.do(back(strings.Repeat("9", 300))).wants(t, 400, "printable")
}

// A call that has nothing to say for long begins its answer without it, in every revision,
// so that nobody between takes the connection for dead; and so does a stream that is gone on
// with.
func TestQuietCalls(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", single} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			q := now("quiet")
			if version != single {
				q = ask{session: s.greet("ann", version), version: version, body: call("quiet")}
			}
			a := s.quietly(t, q)
			defer a.Body.Close()
			in := bufio.NewReader(a.Body)
			seen := until(t, in, ": \n")
			if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%d %v", a.StatusCode, a.Header)
			}
			if _, last, _ := strings.Cut(seen, "id: "); version == "2025-11-25" {
				_ = a.Body.Close() // cut off
				s.alone()
				back := s.quietly(t, ask{method: "GET", session: q.session, version: version, change: func(r *http.Request) {
					r.Header.Set(lastHeader, strings.TrimSpace(strings.SplitN(last, "\n", 2)[0]))
				}})
				defer back.Body.Close()
				in = bufio.NewReader(back.Body)
				until(t, in, ": \n")
			}
			close(s.wait)
			if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), `"id":7`) || !strings.Contains(string(rest), "waited") {
				t.Errorf("%s, %v", rest, err)
			}
		})
	}
}

// quietly begins something that has nothing to say, and beats until it is answered.
func (s *stand) quietly(t *testing.T, q ask) *http.Response {
	t.Helper()
	answered := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for {
			select {
			case s.beat <- time.Time{}:
			case <-answered:
				return
			}
		}
	})
	a, err := s.begin(q)
	if err != nil {
		t.Fatal(err)
	}
	s.beat <- time.Time{} // one more, of a stream that primes
	s.beat <- time.Time{}
	close(answered)
	beating.Wait()
	return a
}

// alone waits until nothing is answered.
func (s *stand) alone() {
	for busy := 1; busy > 0; runtime.Gosched() {
		s.door.mu.Lock()
		busy = len(s.door.busy)
		s.door.mu.Unlock()
	}
}

// Who listens again takes over from a connection that may be dead.
func TestListeningAgain(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann", "2025-11-25")
	listen := func() *http.Response {
		a, err := s.begin(ask{method: "GET", session: id, version: "2025-11-25"})
		if err != nil || a.StatusCode != 200 {
			t.Fatal(a.StatusCode, err)
		}
		return a
	}
	one := listen()
	two := listen()
	defer two.Body.Close()
	if _, err := io.ReadAll(one.Body); err != nil {
		t.Errorf("the first: %v", err)
	}
	_ = one.Body.Close() // read to its end
	in := bufio.NewReader(two.Body)
	until(t, in, "\n\n")
	s.beat <- time.Time{}
	until(t, in, ": \n")
	s.mu.Lock()
	s.good["ann"] = errors.New("the token was revoked")
	s.mu.Unlock()
	s.beat <- time.Time{}
	if rest, err := io.ReadAll(in); err != nil {
		t.Errorf("a stream goes on without a credential: %q %v", rest, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Sessions, c.AllSessions, c.Requests = 2, 3, 3 })
	first := s.greet("ann", "2025-11-25")
	s.now.Add(int64(time.Second))
	second := s.greet("ann", "2025-11-25")
	s.now.Add(int64(time.Second))
	third := s.greet("ann", "2025-11-25")
	s.do(ask{session: first, body: call("echo")}).wants(t, 404)
	s.do(ask{session: second, body: call("echo")}).wants(t, 200)
	var waits []io.ReadCloser
	for _, id := range []string{second, third} {
		a, err := s.begin(ask{session: id, version: "2025-11-25", body: call("wait")}) //nolint:bodyclose // below, when all of them have waited
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, a.Body)
	}
	a := s.do(ask{body: fmt.Sprintf(hello, "2025-11-25")})
	if a.wants(t, 429, "sessions are in use"); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.greet("bob", "2025-11-25")
	s.do(ask{who: "eve", body: fmt.Sprintf(hello, "2025-11-25")}).wants(t, 429)
	listening, err := s.begin(ask{method: "GET", session: second})
	if err != nil {
		t.Fatal(err)
	}
	s.do(ask{session: third, body: call("echo")}).wants(t, 429, "under way")
	_ = listening.Body.Close() // cut off
	close(s.wait)
	for _, w := range waits {
		text, err := io.ReadAll(w)
		if _ = w.Close(); err != nil || !strings.Contains(string(text), "waited") { // read to its end
			t.Errorf("%s %v", text, err)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	old, used := s.greet("ann", "2025-11-25"), s.greet("ann", "2025-11-25")
	s.now.Add(int64(s.door.cfg.Idle) - 1)
	s.do(ask{session: used, body: call("echo")}).wants(t, 200)
	s.now.Add(1)
	s.door.endIdle()
	s.do(ask{session: old, body: call("echo")}).wants(t, 404)
	s.do(ask{session: used, body: call("echo")}).wants(t, 200)
}

// The end of the server ends streams and sessions, and who comes then is told.
func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann", "2025-11-25")
	a, err := s.begin(ask{method: "GET", session: id})
	if err != nil {
		t.Fatal(err)
	}
	s.door.Close()
	if _, err := io.ReadAll(a.Body); err != nil {
		t.Error(err)
	}
	_ = a.Body.Close() // read to its end
	s.do(ask{session: id, body: call("echo")}).wants(t, 503, "closing")
	s.do(now("echo")).wants(t, 503, "closing")
}

// Whatever is sent is answered as an error of JSON-RPC, and the door stands after it.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.greet("ann", "2025-03-26")
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	long := strings.Repeat("x", 10*64<<10)
	tool := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":` + arguments + `}}`
	}
	for name, c := range map[string]struct {
		q      ask
		status int
		want   string
	}{
		"no type":               {ask{session: id, body: call("echo"), change: set("Content-Type")}, 415, "Content-Type"},
		"text":                  {ask{session: id, body: call("echo"), change: set("Content-Type", "text/plain")}, 415, "Content-Type"},
		"a form":                {ask{session: id, body: call("echo"), change: set("Content-Type", "application/x-www-form-urlencoded")}, 415, "Content-Type"},
		"another charset":       {ask{session: id, body: call("echo"), change: set("Content-Type", "application/json; charset=utf-7")}, 415, "Content-Type"},
		"packed":                {ask{session: id, body: call("echo"), change: set("Content-Encoding", "gzip")}, 415, "Content-Encoding"},
		"two types":             {ask{session: id, body: call("echo"), change: set("Content-Type", "application/json", "text/plain")}, 400, "more than once"},
		"no Accept":             {ask{session: id, body: call("echo"), change: set("Accept")}, 406, "Accept"},
		"half an Accept":        {ask{session: id, body: call("echo"), change: set("Accept", "application/json")}, 406, "text/event-stream"},
		"GET for JSON":          {ask{method: "GET", session: id, change: set("Accept", "application/json")}, 406, "text/event-stream"},
		"PUT":                   {ask{method: "PUT", session: id, body: call("echo")}, 405, "POST"},
		"two sessions":          {ask{body: call("echo"), change: set(sessionHeader, id, id)}, 400, "more than once"},
		"two revisions":         {ask{session: id, body: call("echo"), change: set(versionHeader, "2025-03-26", single)}, 400, "more than once"},
		"long session":          {ask{session: strings.Repeat("s", 5000), body: call("echo")}, 400, "printable"},
		"unprintable session":   {ask{body: call("echo"), change: set(sessionHeader, "\xff\xfe")}, 400, "printable"},
		"unknown session":       {ask{session: "nothing", body: call("echo")}, 404, "no such session"},
		"no session":            {ask{body: call("echo")}, 400, "initialize"},
		"GET without":           {ask{method: "GET"}, 400, sessionHeader},
		"DELETE without":        {ask{method: "DELETE"}, 400, sessionHeader},
		"GET of today":          {ask{method: "GET", session: id, version: single}, 405, "POST"},
		"DELETE of today":       {ask{method: "DELETE", session: id, version: single}, 405, "POST"},
		"a batch of greetings":  {ask{body: "[" + fmt.Sprintf(hello, "2025-03-26") + "]"}, 400, "initialize"},
		"an old revision":       {ask{session: id, version: "1999-01-01", body: call("echo")}, 400, "Unsupported protocol version"},
		"a future revision":     {ask{version: "2999-01-01", body: strings.ReplaceAll(now("echo").body, single, "2999-01-01"), change: now("echo").change}, 400, "-32022"},
		"revisions that differ": {ask{session: id, version: "2025-03-26", body: now("echo").body}, 400, "-32020"},
		"empty":                 {ask{session: id, body: " \n"}, 400, "empty"},
		"not JSON":              {ask{session: id, body: "hello"}, 400, `-32700`},
		"NUL":                   {ask{session: id, body: "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\x00\"}"}, 400, "-32700"},
		"two values":            {ask{session: id, body: call("echo") + call("echo")}, 400, "-32700"},
		"bad UTF-8":             {ask{session: id, body: "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}"}, 400, "UTF-8"},
		"long":                  {ask{session: id, body: `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"` + long + `"}}`}, 413, `"id":9`},
		"a number":              {ask{session: id, body: "5"}, 400, "-32600"},
		"no version":            {ask{session: id, body: `{"id":9,"method":"ping"}`}, 400, `"id":9`},
		"id of another type":    {ask{session: id, body: `{"jsonrpc":"2.0","id":[1],"method":"ping"}`}, 400, `"id":null`},
		"duplicate method":      {ask{session: id, body: `{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/list"}`}, 400, "duplicate name"},
		"unknown method":        {ask{session: id, body: `{"jsonrpc":"2.0","id":9,"method":"nope","params":{}}`}, 400, "-32601"},
		"params is an array":    {ask{session: id, body: `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}`}, 200, `"error"`},
		"empty batch":           {ask{session: id, version: "2025-03-26", body: "[]"}, 400, "a batch holds"},
		"batch of nonsense":     {ask{session: id, version: "2025-03-26", body: "[1,2]"}, 400, "in a batch"},
		"an id twice":           {ask{session: id, version: "2025-03-26", body: "[" + call("echo") + "," + call("echo") + "]"}, 400, "used twice"},
		"great batch":           {ask{session: id, version: "2025-03-26", body: "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x"},`, 100) + "1]"}, 400, "a batch holds"},
		"batch of later":        {ask{session: id, version: "2025-06-18", body: "[" + call("echo") + "]"}, 400, "batching"},
		"batch of today":        {ask{version: single, body: "[" + call("echo") + "]"}, 400, ""},
		// Models see what is wrong with a call of a tool.
		"tool, long":              {ask{session: id, body: tool(`{"a":"` + long + `"}`)}, 200, `"isError":true`},
		"tool, duplicate":         {ask{session: id, body: tool(`{"argv":["true"],"argv":["rm"]}`)}, 200, `duplicate name`},
		"tool, bad UTF-8":         {ask{session: id, body: tool("{\"argv\":[\"\xff\"]}")}, 200, `"isError":true`},
		"tool, half surrogate":    {ask{session: id, body: tool(`{"argv":["\ud800"]}`)}, 200, `"isError":true`},
		"tool, duplicate, single": {ask{version: single, body: tool(`{"argv":["true"],"argv":["rm"]}`)}, 200, `"resultType":"complete"`},
		"tool, whose session?":    {ask{who: "bob", session: id, body: tool(`{"argv":1,"argv":2}`)}, 404, "no such session"},
		"tool, no session":        {ask{body: tool(`{"argv":1,"argv":2}`)}, 400, "duplicate name"},
		"task, no header":         {ask{version: single, body: `{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{` + meta + `,"taskId":"a"}}`, change: set("Mcp-Method", "tasks/get")}, 400, "-32020"},
		"task, another": {ask{version: single, body: `{"jsonrpc":"2.0","id":9,"method":"tasks/cancel","params":{` + meta + `,"taskId":"a"}}`, change: func(r *http.Request) {
			r.Header.Set("Mcp-Method", "tasks/cancel")
			r.Header.Set("Mcp-Name", "b")
		}}, 400, "-32020"},
		"task, none here": {ask{version: single, body: `{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{` + meta + `,"taskId":"a"}}`, change: func(r *http.Request) {
			r.Header.Set("Mcp-Method", "tasks/get")
			r.Header.Set("Mcp-Name", "a")
		}}, 404, "-32601"},
		"name twice": {ask{version: single, body: now("echo").body, change: func(r *http.Request) { r.Header.Set("Mcp-Method", "tools/call"); r.Header.Set("Mcp-Name", "wait") }}, 400, "-32020"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.do(c.q)
			a.wants(t, c.status, c.want)
			var m struct {
				Version string         `json:"jsonrpc"`
				Error   jsontext.Value `json:"error"`
				Result  jsontext.Value `json:"result"`
			}
			text := a.body
			if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
				text = text[strings.LastIndex(text, "data: ")+6:]
			}
			if err := json.Unmarshal([]byte(text), &m); err != nil || m.Version != "2.0" || (m.Error == nil) == (m.Result == nil) {
				t.Errorf("this is no answer of JSON-RPC: %q %v", a.body, err)
			}
			if a.StatusCode == 405 && a.Header.Get("Allow") == "" {
				t.Error("no Allow")
			}
			if got := a.Header.Get("Cache-Control"); !strings.HasPrefix(got, "no-store") {
				t.Errorf("Cache-Control: %q", got)
			}
			s.do(ask{session: id, body: strings.Replace(call("echo"), "7", fmt.Sprintf("%q", name), 1)}).wants(t, 200, "echo")
		})
	}
}
