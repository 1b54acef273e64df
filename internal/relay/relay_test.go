package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/relay/wire"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	ann   = paddock.Principal{Kind: paddock.User, ID: "user:ann"}
	bob   = paddock.Principal{Kind: paddock.User, ID: "user:bob"}
	admin = paddock.Principal{Kind: paddock.Operator, ID: "user:admin"}
	quick = slog.New(slog.DiscardHandler)
)

// guard is how long a test waits for what must happen.
const guard = 2 * time.Minute

func newID(t testing.TB) paddock.RunID {
	t.Helper()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A house has some runs, and says what was asked.
type house struct {
	ballots

	mu     sync.Mutex
	runs   map[paddock.RunID]paddock.Run
	asked  []string
	kills  []app.KillRequest
	broken error
	hold   chan struct{} // output waits for it
}

func newHouse(runs ...paddock.Run) *house {
	h := &house{runs: map[paddock.RunID]paddock.Run{}}
	for _, r := range runs {
		h.runs[r.ID] = r
	}
	return h
}

func (h *house) find(verb string, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, verb)
	run, ok := h.runs[id]
	if h.broken != nil {
		return paddock.Run{}, h.broken
	}
	if !ok || p != run.Principal && p.Kind != paddock.Operator {
		return paddock.Run{}, paddock.Refused(paddock.NotFound, "There is no such run.")
	}
	return run, nil
}

func (h *house) Look(_ context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return h.find("look", p, id)
}

func (h *house) Status(_ context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return h.find("status", p, id)
}

func (h *house) Wait(_ context.Context, p paddock.Principal, id paddock.RunID, d time.Duration) (paddock.Run, error) {
	return h.find("wait "+d.String(), p, id)
}

func (h *house) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if _, err := h.find("output", p, id); err != nil {
		return paddock.Page{}, err
	}
	h.mu.Lock()
	hold := h.hold
	h.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return paddock.Page{}, ctx.Err()
		}
	}
	return paddock.Page{Stream: req.Stream, Content: "ä\x00<&>", Encoding: "utf-8", Offset: req.Offset, NextOffset: req.Offset + 6, Total: 99}, nil
}

func (h *house) Detail(_ context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error) {
	run, err := h.find("detail", p, id)
	return app.Detail{Run: run, EnvironmentNames: []string{"CI"}}, err
}

func (h *house) Kill(_ context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	run, err := h.find("kill", p, id)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kills = append(h.kills, req)
	return run, err
}

// ballots are what persons are asked at a house, and how often they voted there.
type ballots struct {
	all   []paddock.Approval
	votes []string
}

func (b *ballots) Approvals(context.Context, paddock.Principal) ([]paddock.Approval, error) {
	return b.all, nil
}

func (b *ballots) Approval(_ context.Context, _ paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	for _, one := range b.all {
		if one.ID == id {
			return one, nil
		}
	}
	return paddock.Approval{}, paddock.Refused(paddock.NotFound, "There is no such approval.")
}

func (b *ballots) Question(_ context.Context, _ paddock.Principal, id paddock.ApprovalID) ([]byte, error) {
	return []byte("text of " + id), nil
}

func (b *ballots) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	b.votes = append(b.votes, string(envelope))
	return b.Approval(ctx, p, id)
}

// What persons are asked about runs of a server's users is shown and voted on over the
// connection; what the machine's own operator is asked isn't there.
func TestVotesAreCarried(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.all = []paddock.Approval{
		{ID: "a1", Matter: paddock.Matter{Principal: ann, Argv: []string{"x"}}},
		{ID: "a2", Matter: paddock.Matter{Principal: paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=0"}}},
	}
	_, at := setup(t, h)
	all, err := at.Approvals(t.Context(), admin)
	if err != nil || len(all) != 1 || all[0].ID != "a1" || all[0].Worker == "" {
		t.Fatalf("%+v, %v", all, err)
	}
	if text, err := at.Question(t.Context(), admin, "a1"); err != nil || string(text) != "text of a1" {
		t.Errorf("%q, %v", text, err)
	}
	if one, err := at.Vote(t.Context(), admin, "a1", []byte("a vote")); err != nil || one.ID != "a1" || len(h.votes) != 1 || h.votes[0] != "a vote" {
		t.Errorf("%+v, %v, %q", one, err, h.votes)
	}
	var r *paddock.Refusal
	for _, id := range []paddock.ApprovalID{"a2", "a3", "", "\xff", "../a1"} {
		_, one := at.Approval(t.Context(), admin, id)
		_, text := at.Question(t.Context(), admin, id)
		_, vote := at.Vote(t.Context(), admin, id, []byte("another"))
		for _, err := range []error{one, text, vote} {
			if !errors.As(err, &r) || r.Code != paddock.NotFound && r.Code != paddock.InvalidRequest {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if _, err := at.Vote(t.Context(), admin, "a1", make([]byte, wire.MostQuestion)); !errors.As(err, &r) || r.Code != paddock.InvalidRequest {
		t.Errorf("a vote that is too long: %v", err)
	}
	if len(h.votes) != 1 {
		t.Errorf("the votes: %q", h.votes)
	}
}

func (h *house) Type(_ context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	_, err := h.find("type "+string(t.Input), p, id)
	return err
}

// server is one that takes for a worker whoever shows its name as a token.
func server(t testing.TB, hub *Hub) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(taking(t, hub))
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func taking(t testing.TB, hub *Hub) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || r.URL.Path != Path {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		err := hub.Accept(w, r, name)
		var refusal *paddock.Refusal
		if errors.As(err, &refusal) {
			w.WriteHeader(http.StatusBadRequest)
		}
		if err != nil {
			t.Logf("accept: %v", err)
		}
	})
}

// work has a worker connect until the test is over, or the returned function is called.
func work(t testing.TB, c Config) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	c.Log, c.Now = quick, time.Now
	done.Go(func() {
		if err := Serve(ctx, c); err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
	end = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(end)
	return end
}

// until waits until the hub is as it should be.
func until(t testing.TB, hub *Hub, what func() bool) {
	t.Helper()
	limit := time.NewTimer(guard)
	defer limit.Stop()
	for {
		hub.mu.Lock()
		changed := hub.changed
		hub.mu.Unlock()
		if what() {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatal("it never came to that")
		}
	}
}

func setup(t testing.TB, h House) (*Hub, House) {
	t.Helper()
	hub := NewHub(t.Context(), guard)
	t.Cleanup(hub.Close)
	work(t, Config{Server: server(t, hub).URL, Token: "w1", House: h})
	return hub, hub.At("w1")
}

func code(err error) paddock.Code {
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// Every verb arrives as it was asked, and its answer as it was given.
func TestVerbs(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), State: paddock.Running, Principal: ann, CreatedAt: time.Unix(1_700_000_000, 0).UTC()}
	h := newHouse(run)
	_, far := setup(t, h)
	ctx := t.Context()
	for name, ask := range map[string]func(paddock.Principal) (paddock.Run, error){
		"look":   func(p paddock.Principal) (paddock.Run, error) { return far.Look(ctx, p, run.ID) },
		"status": func(p paddock.Principal) (paddock.Run, error) { return far.Status(ctx, p, run.ID) },
		"wait":   func(p paddock.Principal) (paddock.Run, error) { return far.Wait(ctx, p, run.ID, time.Minute) },
		"detail": func(p paddock.Principal) (paddock.Run, error) {
			d, err := far.Detail(ctx, p, run.ID)
			return d.Run, err
		},
		"kill": func(p paddock.Principal) (paddock.Run, error) {
			return far.Kill(ctx, p, run.ID, app.KillRequest{Signal: "KILL", Reason: "because", NoWait: true})
		},
	} {
		for _, p := range []paddock.Principal{ann, admin} {
			if got, err := ask(p); err != nil || got.ID != run.ID || got.Principal != ann || got.State != paddock.Running {
				t.Errorf("%s of %s: %+v, %v", name, p.ID, got, err)
			}
		}
		for _, p := range []paddock.Principal{bob, {}, {Kind: paddock.Agent, ID: "user:ann"}, {Kind: paddock.User}, {Kind: paddock.User, ID: "user:ann > user/x/y"}} {
			if got, err := ask(p); code(err) != paddock.NotFound && code(err) != paddock.Forbidden || got.ID != "" {
				t.Errorf("%s of %+v: %+v, %v", name, p, got, err)
			}
		}
	}
	page, err := far.Output(ctx, ann, run.ID, paddock.PageRequest{Stream: paddock.Stderr, Offset: 7, Raw: true})
	if err != nil || page.Stream != paddock.Stderr || page.Offset != 7 || page.Content != "ä\x00<&>" || page.Total != 99 {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := far.Output(ctx, ann, run.ID, paddock.PageRequest{Unmasked: true}); code(err) != paddock.Forbidden {
		t.Errorf("secrets: %v", err)
	}
	if h.kills[0] != (app.KillRequest{Signal: "KILL", Reason: "because", NoWait: true}) {
		t.Errorf("%+v", h.kills)
	}
	if !strings.Contains(strings.Join(h.asked, " "), "wait 45s") {
		t.Errorf("waiting isn't cut in pieces: %q", h.asked)
	}
}

// What belongs to the operator of the machine, or to agents there, is nobody's on a server.
func TestOwnRunsAreHidden(t *testing.T) {
	t.Parallel()
	var runs []paddock.Run
	for _, p := range []paddock.Principal{{Kind: paddock.Operator, ID: "uid:0"}, {Kind: paddock.Agent, ID: "a"}, {Kind: paddock.Host, ID: "h"}, {Kind: paddock.Operator, ID: "user:admin"}} {
		runs = append(runs, paddock.Run{ID: newID(t), Principal: p})
	}
	h := newHouse(runs...)
	_, far := setup(t, h)
	for _, r := range runs {
		if _, err := far.Look(t.Context(), admin, r.ID); code(err) != paddock.NotFound {
			t.Errorf("a run of %+v: %v", r.Principal, err)
		}
		if _, err := far.Kill(t.Context(), admin, r.ID, app.KillRequest{}); code(err) != paddock.NotFound || len(h.kills) > 0 {
			t.Errorf("a run of %+v is ended: %v", r.Principal, err)
		}
	}
}

// A fault is told as one, without its words; what it says is for the worker's log.
func TestFault(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), Principal: ann}
	h := newHouse(run)
	_, far := setup(t, h)
	h.mu.Lock()
	h.broken = errors.New("/srv/secret/place is full")
	h.mu.Unlock()
	if _, err := far.Look(t.Context(), ann, run.ID); err == nil || code(err) != "" || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestAway(t *testing.T) {
	t.Parallel()
	hub := NewHub(t.Context(), time.Millisecond)
	defer hub.Close()
	_, err := hub.At("w1").Look(t.Context(), ann, newID(t))
	if code(err) != paddock.Away || !strings.Contains(err.Error(), "w1") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hub.At("w1").Look(ctx, ann, newID(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A question that is open when its connection breaks is answered over the next; one that
// comes while there is none waits for it.
func TestComesBack(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), Principal: ann}
	h := newHouse(run)
	h.hold = make(chan struct{})
	hub := NewHub(t.Context(), guard)
	defer hub.Close()
	s := server(t, hub)
	var pages sync.WaitGroup
	for range 8 { // before there is any worker
		pages.Go(func() {
			if page, err := hub.At("w1").Output(t.Context(), ann, run.ID, paddock.PageRequest{Wait: paddock.Duration(30 * time.Second)}); err != nil || page.Total != 99 {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
	end := work(t, Config{Server: s.URL, Token: "w1", House: h})
	for range 5 {
		var l *wire.Link
		until(t, hub, func() bool { hub.mu.Lock(); defer hub.mu.Unlock(); l = hub.links["w1"]; return l != nil })
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	end()
	h.mu.Lock()
	close(h.hold)
	h.hold = nil
	h.mu.Unlock()
	work(t, Config{Server: s.URL, Token: "w1", House: h})
	pages.Wait()
}

// Of two connections of one worker the newer counts, and questions to the older one are
// asked again over it.
func TestNewestWins(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), Principal: ann}
	older, newer := newHouse(run), newHouse(run)
	older.hold = make(chan struct{}) // never answers
	hub := NewHub(t.Context(), guard)
	defer hub.Close()
	s := server(t, hub)
	stay := func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() } // who is replaced doesn't come back
	work(t, Config{Server: s.URL, Token: "w1", House: older, Pause: stay})
	until(t, hub, func() bool { return hub.Has("w1") })
	asked := make(chan error, 1)
	go func() {
		_, err := hub.At("w1").Output(t.Context(), ann, run.ID, paddock.PageRequest{})
		asked <- err
	}()
	work(t, Config{Server: s.URL, Token: "w1", House: newer, Pause: stay})
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if hub.Connected() != 1 || hub.Has("w2") {
		t.Errorf("%d are connected", hub.Connected())
	}
}

// Workers connect to the server whose certificate is right, and tell others nothing.
func TestTLS(t *testing.T) {
	t.Parallel()
	hub := NewHub(t.Context(), guard)
	defer hub.Close()
	s := httptest.NewUnstartedServer(taking(t, hub))
	s.EnableHTTP2 = true // is offered, and not taken
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	defer s.Close()
	tries := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = Serve(ctx, Config{Server: s.URL, Token: "stranger", House: newHouse(), Log: quick, Now: time.Now, Pause: func(ctx context.Context, _ time.Duration) error {
			select {
			case tries <- struct{}{}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
	}()
	<-tries
	<-tries
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	run := paddock.Run{ID: newID(t), Principal: ann}
	work(t, Config{Server: s.URL, Token: "w1", House: newHouse(run), TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	if _, err := hub.At("w1").Look(t.Context(), ann, run.ID); err != nil || hub.Has("stranger") {
		t.Errorf("%v; who doesn't know the server has connected: %v", err, hub.Has("stranger"))
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ server, token, want string }{
		{"", "t", "no address"},
		{"paddock.example.org", "t", "no address"},
		{"ftp://paddock.example.org", "t", "no address"},
		{"https://user@paddock.example.org", "t", "no address"},
		{"https://paddock.example.org/x", "t", "no address"},
		{"https://paddock.example.org?t=1", "t", "no address"},
		{"http://paddock.example.org", "t", "another machine"},
		{"http://192.0.2.1:80", "t", "another machine"},
		{"https://paddock.example.org", "", "token is missing"},
		{"https://paddock.example.org", "a\r\nHost: b", "no token has"},
		{"https://" + strings.Repeat("x", 1<<20) + "\x00", "t", "no address"},
	} {
		err := Serve(t.Context(), Config{Server: tc.server, Token: tc.token, House: newHouse(), Log: quick, Now: time.Now})
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: %.400v", tc.server, err)
		}
	}
}

// What isn't a server of ours is left, and tried again later and later.
func TestStrangeServers(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"nothing":        "",
		"garbage":        "\x00\xff\x16\x03\n\n",
		"no":             "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
		"another":        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"endless header": "HTTP/1.1 101 Switching Protocols\r\nX: " + strings.Repeat("x", 2*wire.MostHeader),
		"no HTTP/2":      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\nGET / HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(c, says)
					_ = c.(*net.TCPConn).CloseWrite()
					go func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
				}
			}()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waits []time.Duration
			err = Serve(ctx, Config{Server: "http://" + l.Addr().String(), Token: "t", House: newHouse(), Log: quick, Now: time.Now, Pause: func(_ context.Context, d time.Duration) error {
				if waits = append(waits, d); len(waits) == 9 {
					cancel()
				}
				return ctx.Err()
			}})
			if err != nil || len(waits) != 9 || waits[0] < firstWait/2 || waits[8] < mostWait/2 || waits[8] > mostWait {
				t.Errorf("%v, %v", waits, err)
			}
		})
	}
}

// A worker that isn't one, or lies, is found out, and takes nobody with it.
func TestStrangeWorkers(t *testing.T) {
	t.Parallel()
	hub := NewHub(t.Context(), time.Millisecond)
	defer hub.Close()
	s := server(t, hub)
	for name, says := range map[string]string{
		"no upgrade":  "GET " + Path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer w1\r\n\r\n",
		"another":     "GET " + Path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer w1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"too early":   "GET " + Path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer w1\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n\x00\x00\x12\x04",
		"huge frames": "GET " + Path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer w1\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n" + strings.Repeat("\xff", 100),
	} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, says)
		if name == "no upgrade" || name == "another" {
			head := make([]byte, 12)
			if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 400" {
				t.Errorf("%s: %q, %v", name, head, err)
			}
		} else if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.EOF) {
			t.Logf("%s: %v", name, err)
		}
		_ = c.Close()
		if hub.Has("w1") {
			t.Errorf("%s: is a worker", name)
		}
	}
	id := newID(t)
	h := newHouse()
	h.runs[id] = paddock.Run{ID: newID(t), Principal: ann}
	work(t, Config{Server: s.URL, Token: "liar", House: h})
	until(t, hub, func() bool { return hub.Has("liar") })
	if run, err := hub.At("liar").Look(t.Context(), ann, id); err == nil || !strings.Contains(err.Error(), "answers with another") {
		t.Errorf("%+v, %v", run, err)
	}
	if d, err := hub.At("liar").Detail(t.Context(), ann, id); err == nil {
		t.Errorf("%+v", d)
	}
}

// What isn't understood is refused before anything is asked.
func TestHostileQuestions(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), Principal: ann}
	h := newHouse(run)
	d := &door{h, nil, nil, nil, quick}
	who := `"principal":{"kind":"user","id":"user:ann"},"run":"` + string(run.ID) + `"`
	for name, tc := range map[string]struct {
		verb, body string
		want       paddock.Code
	}{
		"nothing":        {look, "", paddock.InvalidRequest},
		"garbage":        {look, "\x00\xff", paddock.InvalidRequest},
		"two":            {look, "{" + who + "}{}", paddock.InvalidRequest},
		"duplicate keys": {look, "{" + who + `,"run":"` + string(run.ID) + `"}`, paddock.InvalidRequest},
		"unknown keys":   {look, "{" + who + `,"sudo":true}`, paddock.InvalidRequest},
		"wrong type":     {look, `{"run":1}`, paddock.InvalidRequest},
		"bad UTF-8":      {look, `{"principal":{"kind":"user","id":"user:a` + "\xff" + `nn"}}`, paddock.InvalidRequest},
		"too long":       {look, strings.Repeat(" ", 10*wire.MostQuestion), paddock.InvalidRequest},
		"deep":           {look, strings.Repeat("[", wire.MostQuestion-1), paddock.InvalidRequest},
		"no run":         {look, `{"principal":{"kind":"user","id":"user:ann"},"run":"../../etc"}`, paddock.NotFound},
		"no verb":        {"start", "{" + who + "}", paddock.InvalidRequest},
		"long verb":      {strings.Repeat("x", 10_000), "{" + who + "}", paddock.InvalidRequest},
		"unmasked":       {output, "{" + who + `,"page":{"unmasked":true}}`, paddock.Forbidden},
		"no wait":        {wait, "{" + who + "}", paddock.InvalidRequest},
		"long wait":      {wait, "{" + who + `,"wait_ms":3600000}`, paddock.InvalidRequest},
		"negative wait":  {wait, "{" + who + `,"wait_ms":-1}`, paddock.InvalidRequest},
		"host":           {look, `{"principal":{"kind":"host","id":"x"},"run":"` + string(run.ID) + `"}`, paddock.Forbidden},
		"long principal": {look, `{"principal":{"kind":"user","id":"` + strings.Repeat("x", 5000) + `"},"run":"` + string(run.ID) + `"}`, paddock.Forbidden},
	} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, wire.Prefix+tc.verb, strings.NewReader(tc.body)))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"code":"`+string(tc.want)+`"`) || w.Body.Len() > 1000 {
			t.Errorf("%s: %d %.300s", name, w.Code, w.Body)
		}
	}
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, wire.Prefix+look, nil), httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRequest(http.MethodPost, "/v1", nil), httptest.NewRequest(http.MethodDelete, wire.Prefix, nil),
	} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound && w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d", r.Method, r.URL, w.Code)
		}
	}
}

// Many questions are open at once, and one that nobody waits for any more ends at the worker.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), Principal: ann}
	h := newHouse(run)
	h.hold = make(chan struct{})
	hub, far := setup(t, h)
	until(t, hub, func() bool { return hub.Has("w1") })
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			if _, err := far.Output(ctx, ann, run.ID, paddock.PageRequest{Wait: paddock.Duration(paddock.MaxWait)}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if _, err := far.Look(t.Context(), ann, run.ID); err != nil { // isn't behind them
		t.Error(err)
	}
	cancel()
	all.Wait()
	if _, err := far.Look(t.Context(), ann, run.ID); err != nil {
		t.Error(err)
	}
}
