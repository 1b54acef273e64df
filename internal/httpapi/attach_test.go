//go:build linux

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/attach"
	"paddock/internal/client/sits"
	"paddock/internal/httpapi/entry/gate/seats"
)

// onTerminal starts a run with a terminal.
func (s *stand) onTerminal(as, line string) string {
	s.t.Helper()
	body, err := json.Marshal(NewRun{Argv: []string{"sh", "-c", line}, Terminal: &paddock.TerminalSize{Rows: 24, Columns: 80}})
	if err != nil {
		s.t.Fatal(err)
	}
	var run paddock.Run
	s.do(http.MethodPost, "/api/v1/runs", as, string(body)).into(s.t, http.StatusCreated, &run)
	return "/api/v1/runs/" + string(run.ID) + "/attach"
}

// ends ends all runs when the test does.
func (s *stand) ends() {
	s.t.Cleanup(func() {
		_, err := s.app.KillAll(context.Background(), paddock.Principal{Kind: paddock.Operator, ID: "test"}, app.KillRequest{Signal: "KILL"})
		if err != nil {
			s.t.Error(err)
		}
	})
}

// A sitter is the client of one seat.
type sitter struct {
	t    *testing.T
	conn *websocket.Conn
	at   int64 // of what was printed
	out  bytes.Buffer
	done int64 // the last number that was
}

func (s *stand) sit(t *testing.T, path, as string, change ...func(*websocket.DialOptions)) *sitter {
	t.Helper()
	o := &websocket.DialOptions{Subprotocols: []string{seats.Protocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + as}}}
	for _, c := range change {
		c(o)
	}
	conn, a, err := websocket.Dial(t.Context(), s.url+path, o) //nolint:bodyclose // Dial closes it
	if err != nil {
		t.Fatal(err)
	}
	if a.Header.Get("Content-Security-Policy") == "" {
		t.Error("the upgrade has no content policy")
	}
	t.Cleanup(func() { conn.CloseNow() })
	return &sitter{t: t, conn: conn}
}

func (s *sitter) say(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sitter) types(number int64, text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageBinary, seats.Numbered(number, []byte(text))); err != nil {
		s.t.Fatal(err)
	}
}

// until reads until what was printed has text, or a word comes.
func (s *sitter) until(text string) seats.Word {
	s.t.Helper()
	for text == "" || !strings.Contains(s.out.String(), text) {
		kind, b, err := s.conn.Read(s.t.Context())
		if err != nil {
			s.t.Fatalf("after %q: %v", s.out.String(), err)
		}
		if kind == websocket.MessageText {
			var w seats.Word
			if err := json.Unmarshal(b, &w); err != nil {
				s.t.Fatal(err)
			}
			if w.Type == seats.Done {
				s.done = w.Number
				continue
			}
			return w
		}
		at, b, ok := seats.Cut(b)
		if !ok || s.out.Len() > 0 && at != s.at {
			s.t.Fatalf("output at %d comes after %d", at, s.at)
		}
		s.out.Write(b)
		s.at = at + int64(len(b))
	}
	return seats.Word{}
}

// TestSit: one types and another watches; who comes back goes on where it was, what is typed
// twice is typed once, the last to take the keyboard has it, and all hear of the end.
func TestSit(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.ends()
	path := s.onTerminal("operator", "stty -echo; trap 'stty size' WINCH; echo up; until read x; do :; done; echo got $x; until read y; do :; done; echo and $y; exit 3")
	watcher := s.sit(t, path, "admin")
	one := s.sit(t, path, "operator")
	one.until("up\r\n")
	one.say(`{"type":"take","hand":"h1","number":1,"size":{"rows":30,"columns":100}}`)
	one.types(2, "he")
	one.types(2, "he")
	one.types(3, "llo\r")
	one.until("got hello\r\n")
	again := s.sit(t, path+"?offset="+"4", "operator") // after up
	again.say(`{"type":"take","hand":"h2","number":1}`)
	again.until("got hello\r\n")
	if strings.Contains(again.out.String(), "up") {
		t.Errorf("from an offset on: %q", again.out.String())
	}
	again.say(`{"type":"resize","hand":"h2","number":2,"size":{"rows":10,"columns":10}}`)
	again.until("10 10\r\n")
	one.types(4, "mine\r")
	if w := one.until(""); w.Type != seats.Refused || w.Number != 4 || w.Refusal.Code != paddock.Conflict || !strings.Contains(w.Refusal.Message, "types there now") {
		t.Errorf("%+v", w)
	}
	again.types(3, "there\r")
	for _, each := range []*sitter{one, again, watcher} {
		each.until("and there\r\n")
		if w := each.until(""); w.Type != seats.End || w.Run.State != paddock.Exited || *w.Run.Outcome.Reason.ExitCode != 3 {
			t.Errorf("%+v", w)
		}
	}
	late := s.sit(t, path, "operator")
	late.until("and there\r\n")
	if late.out.String() != one.out.String() || watcher.out.String() != one.out.String() {
		t.Errorf("others saw %q, %q and %q", one.out.String(), watcher.out.String(), late.out.String())
	}
}

// TestClientSits: the client of the command line types and reads, over a connection that is
// cut again and again by a server that closes.
func TestClientSits(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.ends()
	path := s.onTerminal("operator", "stty -echo; echo up; i=0; while [ $i -lt 200 ]; do read x; echo got $x; i=$((i+1)); done; exit 3")
	id := paddock.RunID(strings.Split(path, "/")[4])
	inner := s.url
	cut := newCutter(t, inner)
	server, err := sits.New(cut.url, "operator")
	if err != nil {
		t.Fatal(err)
	}
	typed := make(chan paddock.Typing)
	go func() {
		typed <- paddock.Typing{Hand: "h", Take: true, Number: 1, Size: &paddock.TerminalSize{Rows: 9, Columns: 9}}
		for i := range 200 {
			typed <- paddock.Typing{Hand: "h", Number: int64(i + 2), Input: fmt.Appendf(nil, "%d\r", i)}
			if i%50 == 25 {
				cut.all()
			}
		}
	}()
	var out bytes.Buffer
	if err := server.Attach(t.Context(), id, attach.Attachment{Out: &out, Typed: typed, Refused: func(err error) { t.Error(err) }}); err != nil {
		t.Fatal(err)
	}
	want := "up\r\n"
	for i := range 200 {
		want += fmt.Sprintf("got %d\r\n", i)
	}
	if out.String() != want {
		t.Errorf("after %d cuts it saw %q", cut.cuts.Load(), out.String())
	}
	if cut.cuts.Load() == 0 {
		t.Error("nothing was cut")
	}
	stranger, err := sits.New(s.url, "bob")
	if err != nil {
		t.Fatal(err)
	}
	var refusal *paddock.Refusal
	if err := stranger.Attach(t.Context(), id, attach.Attachment{Out: &out}); !errors.As(err, &refusal) || refusal.Code != paddock.NotFound {
		t.Errorf("another: %v", err)
	}
}

// A cutter passes connections on to a server, and cuts them.
type cutter struct {
	url  string
	cuts atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{url: "http://" + l.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); c.all(); all.Wait() })
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			pass := func(a, b net.Conn) {
				_, _ = io.Copy(a, b) // until it is cut
				_ = a.Close()
			}
			all.Go(func() { pass(near, far) })
			all.Go(func() { pass(far, near) })
		}
	})
	return c
}

// all cuts what there is.
func (c *cutter) all() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
		c.cuts.Add(1)
	}
	c.conns = nil
}

// TestSitters: who may not start a run may not sit at one, a run of others isn't there, and
// no page of others gets in with our cookie.
func TestSitters(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Limits.RunAttachers, c.Limits.Attachers = 1, 2 })
	s.ends()
	path := s.onTerminal("operator", "echo up; read x")
	key := func(r *http.Request) {
		r.Header = http.Header{
			"Authorization": r.Header.Values("Authorization"), "Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}, "Sec-Websocket-Protocol": {seats.Protocol},
		}
	}
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, as, path string
		status         int
		code           paddock.Code
		change         []func(*http.Request)
	}{
		{"nobody", "", path, 401, paddock.Unauthenticated, []func(*http.Request){key}},
		{"viewer", "viewer", path, 403, paddock.Forbidden, []func(*http.Request){key}},
		{"scoped", "scoped", path, 403, paddock.Forbidden, []func(*http.Request){key}},
		{"another", "bob", path, 404, paddock.NotFound, []func(*http.Request){key}},
		{"none", "operator", "/api/v1/runs/r00000000000000000000000000/attach", 404, paddock.NotFound, []func(*http.Request){key}},
		{"no run", "operator", "/api/v1/runs/nonsense/attach", 404, paddock.NotFound, []func(*http.Request){key}},
		{"an offset below zero", "operator", path + "?offset=-1", 422, paddock.InvalidRequest, []func(*http.Request){key}},
		{"a token in the URL", "", path + "?token=operator", 401, paddock.Unauthenticated, []func(*http.Request){key}},
		{"no upgrade", "operator", path, 422, paddock.InvalidRequest, nil},
		{"another version", "operator", path, 422, paddock.InvalidRequest, []func(*http.Request){key, with("Sec-WebSocket-Version", "8")}},
		{"a short key", "operator", path, 422, paddock.InvalidRequest, []func(*http.Request){key, with("Sec-WebSocket-Key", "AAAA")}},
		{"another protocol", "operator", path, 422, paddock.InvalidRequest, []func(*http.Request){key, with("Sec-WebSocket-Protocol", "chat")}},
		{"another origin", "operator", path, 403, paddock.Forbidden, []func(*http.Request){key, with("Origin", "https://evil.example")}},
		{"no origin", "operator", path, 403, paddock.Forbidden, []func(*http.Request){key, with("Origin", "null")}},
		{"another site", "operator", path, 403, paddock.Forbidden, []func(*http.Request){key, with("Sec-Fetch-Site", "cross-site")}},
	} {
		t.Run(c.name, func(t *testing.T) { s.do(http.MethodGet, c.path, c.as, "", c.change...).problem(t, c.status, c.code) })
	}
	same := s.sit(t, path, "operator", func(o *websocket.DialOptions) { o.HTTPHeader.Set("Origin", s.url) })
	same.until("up")
	full := s.do(http.MethodGet, path, "admin", "", key).problem(t, http.StatusTooManyRequests, paddock.Busy)
	if !strings.Contains(full.Detail, "Run r") {
		t.Errorf("a run with one too many: %q", full.Detail)
	}
	second := s.sit(t, s.onTerminal("operator", "echo up; read x"), "operator")
	second.until("up")
	full = s.do(http.MethodGet, s.onTerminal("operator", "echo up; read x"), "operator", "", key).problem(t, http.StatusTooManyRequests, paddock.Busy)
	if !strings.Contains(full.Detail, "The account") {
		t.Errorf("an account with one too many: %q", full.Detail)
	}
	same.conn.CloseNow()
	same = s.sit(t, s.onTerminal("admin", "echo up; read x"), "admin")
	same.until("up")
	s.door.Close()
	if _, _, err := same.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("a server that closes: %v", err)
	}
}

// TestHostileSitters: what isn't in the protocol ends the connection, before it is parsed
// where it is too long, and the run goes on.
func TestHostileSitters(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.ends()
	path := s.onTerminal("operator", "echo up; read x; echo got $x")
	for name, c := range map[string]struct {
		kind   websocket.MessageType
		text   string
		status websocket.StatusCode
	}{
		"no JSON":            {websocket.MessageText, "take", websocket.StatusPolicyViolation},
		"nothing":            {websocket.MessageText, "", websocket.StatusPolicyViolation},
		"a list":             {websocket.MessageText, "[]", websocket.StatusPolicyViolation},
		"another type":       {websocket.MessageText, `{"type":"exec","hand":"h","number":1}`, websocket.StatusPolicyViolation},
		"a word of servers":  {websocket.MessageText, `{"type":"end","hand":"h","number":1}`, websocket.StatusPolicyViolation},
		"a key twice":        {websocket.MessageText, `{"type":"take","type":"take","hand":"h","number":1}`, websocket.StatusPolicyViolation},
		"an unknown key":     {websocket.MessageText, `{"type":"take","hand":"h","number":1,"by":"admin"}`, websocket.StatusPolicyViolation},
		"no number":          {websocket.MessageText, `{"type":"take","hand":"h"}`, websocket.StatusPolicyViolation},
		"no hand":            {websocket.MessageText, `{"type":"take","number":1}`, websocket.StatusPolicyViolation},
		"a long hand":        {websocket.MessageText, `{"type":"take","number":1,"hand":"` + strings.Repeat("h", 65) + `"}`, websocket.StatusPolicyViolation},
		"a size of nothing":  {websocket.MessageText, `{"type":"resize","hand":"h","number":1,"size":{"rows":0,"columns":80}}`, websocket.StatusPolicyViolation},
		"a size too large":   {websocket.MessageText, `{"type":"resize","hand":"h","number":1,"size":{"rows":24,"columns":65616}}`, websocket.StatusPolicyViolation},
		"a size of words":    {websocket.MessageText, `{"type":"resize","hand":"h","number":1,"size":{"rows":"24","columns":80}}`, websocket.StatusPolicyViolation},
		"bad UTF-8":          {websocket.MessageText, "{\"type\":\"take\",\"hand\":\"\xff\",\"number\":1}", websocket.StatusPolicyViolation},
		"long text":          {websocket.MessageText, `{"type":"take","hand":"h","number":1` + strings.Repeat(" ", seats.MostWord) + `}`, websocket.StatusPolicyViolation},
		"too long":           {websocket.MessageText, strings.Repeat(" ", 10*seats.MostMessage), websocket.StatusMessageTooBig},
		"typed too long":     {websocket.MessageBinary, strings.Repeat("x", seats.MostMessage+1), websocket.StatusMessageTooBig},
		"typed without hand": {websocket.MessageBinary, "\x00\x00\x00\x00\x00\x00\x00\x01x", websocket.StatusPolicyViolation},
		"typed nothing":      {websocket.MessageBinary, "", websocket.StatusPolicyViolation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seat := s.sit(t, path, "operator")
			_ = seat.conn.Write(t.Context(), c.kind, []byte(c.text)) // which may not arrive whole
			for {
				_, _, err := seat.conn.Read(t.Context())
				if err == nil {
					continue
				}
				if got := websocket.CloseStatus(err); got != c.status {
					t.Errorf("closed with %v, want %v", err, c.status)
				}
				return
			}
		})
	}
	t.Run("a number below zero", func(t *testing.T) {
		t.Parallel()
		seat := s.sit(t, path, "operator")
		seat.say(`{"type":"take","hand":"below","number":1}`)
		seat.types(-1, "x")
		for {
			if _, _, err := seat.conn.Read(t.Context()); err != nil {
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Error(err)
				}
				return
			}
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		run, err := s.app.Status(ctx, paddock.Principal{Kind: paddock.Operator, ID: "test"}, paddock.RunID(strings.Split(path, "/")[4]))
		if err != nil || run.State != paddock.Running {
			t.Errorf("the run is %s, %v", run.State, err)
		}
	})
}
