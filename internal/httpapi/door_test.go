//go:build linux

package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/evidence"
	"paddock/internal/app/used"
	"paddock/internal/auth"
	authdesk "paddock/internal/auth/desk"
	"paddock/internal/executor"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/agents"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts"
	"paddock/internal/httpapi/entry/gate/accounts/opened/machines"
	"paddock/internal/httpapi/entry/gate/accounts/opened/principals"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/httpapi/entry/gate/past"
	"paddock/internal/httpapi/entry/gate/past/attested"
	"paddock/internal/httpapi/entry/gate/past/ruling"
	"paddock/internal/httpapi/entry/gate/profile"
	"paddock/internal/httpapi/entry/gate/quota"
	"paddock/internal/httpapi/entry/gate/search"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/journal"
	"paddock/internal/relay"
	"paddock/internal/relay/anchors"
	"paddock/internal/store"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A desk knows some accounts by their bearer tokens, which are their names.
type desk struct {
	mu       sync.Mutex
	accounts map[string]gate.Caller
	proofs   []gate.Proof
}

func (d *desk) Identify(r *http.Request) (gate.Caller, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok {
		if c, err := r.Cookie("session"); err == nil {
			return d.accounts[c.Value], nil
		}
		return gate.Caller{}, nil
	}
	if c, ok := d.accounts[name]; ok {
		return c, nil
	}
	return gate.Caller{}, paddock.Refused(paddock.Unauthenticated, "The token isn't valid.")
}

func (d *desk) Login(_ context.Context, _ gate.From, p gate.Proof) (gate.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.proofs = append(d.proofs, p)
	if c, ok := d.accounts[p.Name]; ok && p.Password == "secret-"+p.Name {
		return gate.Session{Caller: c, Cookie: &http.Cookie{Name: "session", Value: "v", HttpOnly: true}}, nil
	}
	return gate.Session{}, paddock.Refused(paddock.Unauthenticated, "The name or the password isn't right.")
}

func (d *desk) Logout(*http.Request) (*http.Cookie, error) {
	return &http.Cookie{Name: "session", MaxAge: -1}, nil
}

// A stand is a door over a real house.
type stand struct {
	later atomic.Int64 // by how much the workspaces' clock is ahead
	kept  store.Workers
	t     testing.TB
	app   *app.App
	door  *Door
	url   string
	desk  *desk
	beat  chan time.Time
	log   *syncBuffer
	dir   string
	hub   *relay.Hub
	// heads asks workers when a test does, and writes into anchored.
	heads    *anchors.Keeper
	anchored []journal.Entry
	mcp      *pretended

	store    *tables.Tables
	authdesk *authdesk.Desk
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// people are the accounts of the desk, in a store.
func (s *stand) people() (*accounts.Gate, store.Store) {
	s.t.Helper()
	kept, err := sqlite.Open(s.t.Context(), filepath.Join(s.dir, "state", "server.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.kept = kept
	s.store = kept
	now := store.At(time.Now())
	for _, role := range gate.Roles() {
		user := s.add(s.t, string(role), role)
		c := s.desk.accounts[string(role)]
		c.Who = auth.OfSession(user, store.Session{ID: "s00000000000000000000000000", Created: now, Proven: now}, time.Minute, now)
		s.desk.accounts[string(role)] = c
	}
	s.authdesk, err = authdesk.New(authdesk.Config{Store: kept, Recorder: noRecord{}, Key: authdesk.NewKey()})
	if err != nil {
		s.t.Fatal(err)
	}
	return accounts.New(s.authdesk, false, time.Now, nil), kept
}

// add adds a user to the store.
func (s *stand) add(t testing.TB, name string, role gate.Role) store.User {
	t.Helper()
	now := store.At(time.Now())
	id, err := store.NewID[store.UserID]('u', now.Time, rand.Reader)
	user := store.User{ID: id, Name: name, Role: role, Created: now, Changed: now}
	if err = errors.Join(err, s.store.AddUser(t.Context(), user)); err != nil {
		t.Fatal(err)
	}
	return user
}

type noRecord struct{}

func (noRecord) Record(context.Context, auth.Event) error { return nil }

func open(t testing.TB, change func(*Config)) *stand {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	policy := filepath.Join(dir, "policy.yaml")
	text := strings.ReplaceAll("version: 1\nroots: [{path: DIR}]\nexecutables: [{name: sh, path: /bin/sh, args: any, pty: true}, {name: echo, path: /bin/echo, args: any}]\ncontainment: {require: off}\n", "DIR", dir)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := executor.Open(t.Context(), executor.Config{State: state, Policy: executor.PolicyFile(policy), Stage: testproc.Build(t, "paddock/cmd/paddock-stage")})
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{mcp: &pretended{}, t: t, app: app.New(e), beat: make(chan time.Time), log: &syncBuffer{}, dir: dir}
	s.desk = &desk{accounts: map[string]gate.Caller{}}
	for _, role := range gate.Roles() {
		s.desk.accounts[string(role)] = gate.Caller{Name: string(role), Role: role}
	}
	s.desk.accounts["bob"] = gate.Caller{Name: "bob", Role: gate.Operator}
	s.desk.accounts["scoped"] = gate.Caller{Name: "operator", Role: gate.Operator, Verbs: []gate.Verb{gate.RunsRead}}
	people, kept := s.people()
	hub := relay.NewHub(t.Context(), 0)
	t.Cleanup(hub.Close)
	s.hub = hub
	if s.heads, err = anchors.Open(anchors.Config{Hub: hub, State: state, Now: time.Now, Append: func(_ context.Context, all ...journal.Entry) error {
		s.anchored = append(s.anchored, all...)
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	spaces := workspaces.New(workspaces.Config{Store: kept, House: s.app, Recorder: noRecord{}, Roots: []string{dir}, Now: func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }})
	cfg := Config{
		Workspaces: spaces,
		More: func(in *entry.Entrance) {
			people.Routes(in)
			profile.Routes(in, true)
			spaces.Routes(in)
			principals.Routes(in, kept, time.Now)
			machines.New(machines.Config{Store: kept, Hub: hub, Heads: s.heads, Recorder: noRecord{}, Now: time.Now}).Routes(in)
			agents.Routes(in, s.mcp, agents.Config{Docs: "https://paddock.example/docs/mcp.md"})
			search.Routes(in, func(ctx context.Context, c gate.Caller) (search.House, error) {
				return narrow.For(ctx, s.app, spaces, c)
			})
			quota.Routes(in, used.House{State: state, Policy: executor.PolicyFile(policy), Now: time.Now})
			evident := func(p paddock.Principal) (*evidence.Evidence, error) { return evidence.Open(p, state, time.Now) }
			past.Routes(in, evident)
			ruling.Routes(in, evident)
			attested.Routes(in, attested.Config{
				Seen: func(ctx context.Context, c gate.Caller) (attested.House, error) {
					return narrow.For(ctx, s.app, spaces, c)
				},
				Open: func() (*evidence.Evidence, error) {
					return evident(paddock.Principal{Kind: paddock.Operator, ID: "server"})
				},
			})
		},
		Workers: hub.Connected,
		App:     s.app, Gate: s.desk, Limits: entry.DefaultLimits(), Version: "test",
		Shield: shield.Config{Loopback: true, Log: slog.New(slog.NewTextHandler(s.log, nil)), Now: time.Now},
		Tick:   func(time.Duration) (<-chan time.Time, func()) { return s.beat, func() {} },
		Policy: func() (Policy, error) { return Policy{File: "policy.yaml", Text: text, Roots: []string{dir}}, nil },
		Ready:  func(context.Context) []Check { return []Check{{Name: "state", OK: true}} },
	}
	cfg.Limits.PerSecond, cfg.Limits.Burst = 1e6, 1e6
	if change != nil {
		change(&cfg)
	}
	if cfg.Gate == nil {
		cfg.Gate = people
	}
	s.door, err = New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.door)
	s.url = server.URL
	t.Cleanup(func() {
		s.door.Close()
		server.Close()
		if err := s.app.Close(); err != nil {
			t.Error(err)
		}
		if err := testproc.Unlocked(state + "/runs/*/*/lock"); err != nil {
			t.Error(err)
		}
	})
	return s
}

// An answer is what came back.
type reply struct {
	*http.Response
	body []byte
}

func (s *stand) do(method, path, as, body string, change ...func(*http.Request)) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{a, text}
}

func (s *stand) get(path, as string) reply { s.t.Helper(); return s.do(http.MethodGet, path, as, "") }

func (r reply) into(t testing.TB, status int, v any) reply {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%s: status %d, want %d: %s", r.Request.URL, r.StatusCode, status, r.body)
	}
	if v != nil {
		if err := json.Unmarshal(r.body, v); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
	}
	return r
}

type told struct {
	Status  int
	Detail  string
	Refusal *paddock.Refusal
}

func (r reply) problem(t testing.TB, status int, code paddock.Code) told {
	t.Helper()
	var p told
	r.into(t, status, &p)
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" || p.Status != status || p.Detail == "" {
		t.Errorf("%s: %s: %s", r.Request.URL, got, r.body)
	}
	if (p.Refusal == nil) != (code == "") || p.Refusal != nil && p.Refusal.Code != code {
		t.Errorf("%s: want the code %q: %s", r.Request.URL, code, r.body)
	}
	return p
}

func (s *stand) start(as, line string) paddock.Run {
	s.t.Helper()
	body, err := json.Marshal(NewRun{Argv: []string{"sh", "-c", line}})
	if err != nil {
		s.t.Fatal(err)
	}
	var run paddock.Run
	a := s.do(http.MethodPost, "/api/v1/runs", as, string(body)).into(s.t, http.StatusCreated, &run)
	if a.Header.Get("Location") != "/api/v1/runs/"+string(run.ID) || a.Header.Get("ETag") == "" {
		s.t.Errorf("%v", a.Header)
	}
	return run
}

// The life of a run, as somebody with an account lives it.
func TestOneRun(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	run := s.start("operator", "echo out; echo err >&2; echo two; exit 3")
	path := "/api/v1/runs/" + string(run.ID)
	if run.Principal != (paddock.Principal{Kind: paddock.User, ID: "user:operator"}) || run.Door != paddock.DoorHTTP {
		t.Errorf("%+v", run)
	}
	a := s.get(path+"?wait_ms=45000", "operator").into(t, http.StatusOK, &run)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 3 {
		t.Errorf("%s", a.body)
	}
	again := s.do(http.MethodGet, path, "operator", "", func(r *http.Request) { r.Header.Set("If-None-Match", `"x", `+a.Header.Get("ETag")) })
	if again.StatusCode != http.StatusNotModified || len(again.body) != 0 {
		t.Errorf("%d: %s", again.StatusCode, again.body)
	}
	var page paddock.Page
	s.get(path+"/output", "operator").into(t, http.StatusOK, &page)
	if page.Content != "out\ntwo\n" || !page.EOF {
		t.Errorf("%+v", page)
	}
	s.get(path+"/output?stream=combined&grep=e&grep_ignore_case=true", "operator").into(t, http.StatusOK, &page)
	if page.Content != "err\n" || page.Matches != 1 {
		t.Errorf("%+v", page)
	}
	s.get(path+"/output?grep=(", "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	var detail app.Detail
	s.get(path+"/detail", "operator").into(t, http.StatusOK, &detail)
	if detail.Decision.Effect != paddock.Allow {
		t.Errorf("%+v", detail)
	}
	// Others don't see it, an admin does.
	for _, rest := range []string{"", "/output", "/detail", "/events"} {
		s.get(path+rest, "bob").problem(t, http.StatusNotFound, paddock.NotFound)
	}
	s.do(http.MethodPost, path+"/kill", "bob", "{}").problem(t, http.StatusNotFound, paddock.NotFound)
	s.get(path, "admin").into(t, http.StatusOK, nil)
	s.do(http.MethodPost, path+"/kill", "admin", `{"reason":"late"}`).into(t, http.StatusOK, &run)
	for _, id := range []string{"r", "nothing", strings.Repeat("r", 300)} {
		s.get("/api/v1/runs/"+id, "operator").problem(t, http.StatusNotFound, paddock.NotFound)
	}
}

// Asking again with the same key is the same run; for another command it is refused.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "k1") }
	var one, two, other paddock.Run
	body := `{"argv":["sh","-c","exit 0"]}`
	s.do(http.MethodPost, "/api/v1/runs", "operator", body, key).into(t, http.StatusCreated, &one)
	s.do(http.MethodPost, "/api/v1/runs", "operator", body, key).into(t, http.StatusCreated, &two)
	s.do(http.MethodPost, "/api/v1/runs", "bob", body, key).into(t, http.StatusCreated, &other)
	if one.ID != two.ID || one.ID == other.ID {
		t.Errorf("%s, %s and %s", one.ID, two.ID, other.ID)
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","exit 1"]}`, key).problem(t, http.StatusConflict, paddock.Conflict)
	for _, id := range []paddock.RunID{one.ID, other.ID} {
		s.get("/api/v1/runs/"+string(id)+"?wait_ms=45000", "admin").into(t, http.StatusOK, nil)
	}
}

// Pages of a listing are disjoint and whole, and the next one is named twice.
func TestList(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var want []paddock.RunID
	for range 5 {
		want = append(want, s.start("operator", "exit 0").ID)
	}
	s.start("bob", "exit 0")
	slices.Reverse(want)
	var got []paddock.RunID
	for next := "/api/v1/runs?limit=2"; next != ""; {
		var page app.Listing
		a := s.get(next, "operator").into(t, http.StatusOK, &page)
		for _, run := range page.Runs {
			got = append(got, run.ID)
		}
		link, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		if (page.Next == "") != (link == "") {
			t.Errorf("%q and %q", page.Next, link)
		}
		next = link
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var all app.Listing
	s.get("/api/v1/runs", "admin").into(t, http.StatusOK, &all)
	if len(all.Runs) != 6 {
		t.Errorf("an admin sees %d", len(all.Runs))
	}
	for _, run := range all.Runs {
		s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "admin").into(t, http.StatusOK, nil)
	}
	for _, query := range []string{"limit=0x", "limit=-1", "limit=1001", "cursor=x", "cursors=", "limit=1&limit=2", "active=yes"} {
		s.get("/api/v1/runs?"+query, "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
}

// An event is what a stream has between two empty lines.
type event struct{ id, kind, data string }

func (s *stand) events(path, as, last string) (next func() (event, error), stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+as)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := http.DefaultClient.Do(r) //nolint:bodyclose // stop does
	if err != nil {
		s.t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Content-Security-Policy") != shield.APIPolicy {
		s.t.Fatalf("%d %v", a.StatusCode, a.Header)
	}
	lines := bufio.NewReader(a.Body)
	return func() (event, error) {
			var e event
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return e, err
				}
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				switch {
				case line == "\n" && e.kind != "":
					return e, nil
				case line == ":\n":
					e.kind = "comment"
				case name == "id":
					e.id = value
				case name == "event":
					e.kind = value
				case name == "data":
					e.data = value
				}
			}
		}, func() {
			cancel()
			_ = a.Body.Close() // canceled
		}
}

// Live output has numbers, can be left and taken up again, and ends with the outcome.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	goOn := filepath.Join(s.dir, "go")
	run := s.start("operator", fmt.Sprintf("mkfifo %s; echo first; read x < %s; echo second >&2", goOn, goOn))
	path := "/api/v1/runs/" + string(run.ID) + "/events"
	next, stop := s.events(path, "operator", "")
	var e event
	for _, want := range []event{{"1", "state", "accepted"}, {"2", "state", "started"}, {"8", "output", `"stream":"stdout","offset":0,"length":6`}} {
		var err error
		if e, err = next(); err != nil || e.id != want.id || e.kind != want.kind || !strings.Contains(e.data, want.data) {
			t.Fatalf("%+v, %v; want %+v", e, err, want)
		}
	}
	s.beat <- time.Now()
	if e, err := next(); err != nil || e.kind != "comment" {
		t.Errorf("%+v, %v", e, err)
	}
	stop()
	again, stopAgain := s.events(path, "operator", "8")
	defer stopAgain()
	if err := os.WriteFile(goOn, []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	if e, err := again(); err != nil || e.id != "15" || !strings.Contains(e.data, `"stream":"stderr","offset":0,"length":7`) || !strings.Contains(e.data, `"content":"second\n"`) {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := again(); err != nil || e.id != "16" || e.kind != "end" || !strings.Contains(e.data, `"exit_code":0`) {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := again(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %+v, %v", e, err)
	}
	if a := s.do(http.MethodGet, path, "operator", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", "16") }); a.StatusCode != http.StatusNoContent {
		t.Errorf("who comes back after the end is told %d", a.StatusCode)
	}
	s.get(path+"?after=17", "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	s.get(path+"?after=-1", "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	// Two over one connection, of which one was read before.
	other := s.start("operator", "echo other")
	many, stopMany := s.events("/api/v1/events?runs="+string(run.ID)+":15,"+string(other.ID), "operator", "")
	defer stopMany()
	ends, last := 0, ""
	for ends < 2 {
		e, err := many()
		if err != nil {
			t.Fatal(err)
		}
		if e.kind == "end" {
			ends++
		}
		if e.id != "" {
			last = e.id
		}
	}
	if want := fmt.Sprintf("%s:16,%s:9", run.ID, other.ID); last != want {
		t.Errorf("the last id is %s, want %s", last, want)
	}
	for _, runs := range []string{"", "x", string(run.ID) + ":x", string(run.ID) + "," + string(run.ID)} {
		s.get("/api/v1/events?runs="+runs, "operator").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	s.get("/api/v1/events?runs="+string(run.ID), "bob").problem(t, http.StatusNotFound, paddock.NotFound)
}

// A stream ends with the credential that opened it, and with the server.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Limits.Streams = 1 })
	run := s.start("operator", "sleep 1000")
	path := "/api/v1/runs/" + string(run.ID) + "/events"
	next, stop := s.events(path, "operator", "2")
	s.get(path, "operator").problem(t, http.StatusTooManyRequests, paddock.Busy)
	s.desk.mu.Lock()
	was := s.desk.accounts["operator"]
	delete(s.desk.accounts, "operator")
	s.desk.mu.Unlock()
	s.beat <- time.Now()
	if e, err := next(); err != nil || e.kind != "error" || !strings.Contains(e.data, "unauthenticated") {
		t.Errorf("%+v, %v", e, err)
	}
	stop()
	s.desk.mu.Lock()
	s.desk.accounts["operator"] = was
	s.desk.mu.Unlock()
	next, stop = s.events(path, "admin", "2")
	defer stop()
	s.door.Close()
	if e, err := next(); err == nil {
		t.Errorf("after the server closed: %+v", e)
	}
	s.get(path, "admin").problem(t, http.StatusServiceUnavailable, "")
	var ended paddock.Run
	s.do(http.MethodPost, "/api/v1/runs/"+string(run.ID)+"/kill", "operator", `{"signal":"KILL"}`).into(t, http.StatusOK, &ended)
	if ended.State != paddock.Killed || ended.Outcome.Reason.By != "user:operator" {
		t.Errorf("%+v", ended.Outcome)
	}
}
