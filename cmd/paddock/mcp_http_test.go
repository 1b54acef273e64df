//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/testproc"
)

// bearing shows a token with each request.
type bearing struct {
	token string
	http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// token makes one with those scopes.
func (s *served) token(scopes ...string) (word, id string) { return s.tokenFor("*", scopes...) }

// tokenFor makes one for a workspace.
func (s *served) tokenFor(workspace string, scopes ...string) (word, id string) {
	s.y.t.Helper()
	var made struct {
		Word  string `json:"word"`
		Token struct{ ID string }
		ID    string
	}
	text, err := json.Marshal(map[string]any{"name": "agent", "scopes": scopes, "workspaces": []string{workspace}, "lasts_ms": 3_600_000})
	if err != nil {
		s.y.t.Fatal(err)
	}
	s.ask(http.MethodPost, "/api/v1/tokens", string(text), http.StatusCreated, &made)
	return made.Word, made.ID + made.Token.ID
}

// mcp sends one message by hand.
func (s *served) mcp(token, session, body string, headers ...string) (int, http.Header, string) {
	s.y.t.Helper()
	r, err := http.NewRequestWithContext(s.y.t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.y.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := s.client.Do(r)
	if err != nil {
		s.y.t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read
	if err != nil {
		s.y.t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// An agent connects by the URL and a token, with a client of today: what it starts is
// its user's, and ends when it says so.
func TestServeMCP(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	s.enter()
	word, id := s.token("mcp.*", "runs.*", "tasks.*")
	plain := &http.Transport{}
	defer plain.CloseIdleConnections()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearing{word, plain}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	want := []string{"command_kill", "command_list", "command_output", "command_status", "retrieve_context", "run_command_bg", "tasks_create", "tasks_list", "tasks_update"}
	if !slices.Equal(names, want) {
		t.Errorf("tools: %q", names)
	}
	tool := func(name string, in map[string]any, out any) {
		t.Helper()
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r.StructuredContent)
		if err != nil || r.IsError || json.Unmarshal(text, out) != nil {
			t.Fatalf("%s: %s %v", name, text, err)
		}
	}
	var started struct{ TaskID string }
	tool("run_command_bg", map[string]any{"argv": []string{"prog", "say", "hi"}}, &started)
	var status struct{ State, TailPreview string }
	tool("command_status", map[string]any{"taskId": started.TaskID, "waitMs": 45_000}, &status)
	if status.State != "exited" || status.TailPreview != "hi\n" {
		t.Errorf("%+v", status)
	}
	var run paddock.Run
	s.ask(http.MethodGet, "/api/v1/runs/"+started.TaskID, "", http.StatusOK, &run)
	if run.Principal != (paddock.Principal{Kind: paddock.User, ID: "user:admin"}) {
		t.Errorf("whose it is: %+v", run.Principal)
	}
	if r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_command_bg", Arguments: map[string]any{"argv": []string{"prog", "--forbidden"}}}); err != nil || !r.IsError {
		t.Errorf("what the policy refuses: %+v %v", r, err)
	}
	s.ask(http.MethodDelete, "/api/v1/tokens/"+id, "", http.StatusNoContent, nil)
	if _, err := c.ListTools(t.Context(), nil); err == nil {
		t.Error("a token that was revoked is good")
	}
	_ = c.Close() // by a token that is no good
	s.end()
	log, err := os.ReadFile(s.log)
	if err != nil || strings.Contains(string(log), word) || strings.Contains(string(log), "prog") || !strings.Contains(string(log), `route="POST /mcp" status=200`) {
		t.Errorf("the log (%v):\n%s", err, log)
	}
}

// What a session is told leaves piece by piece, while the stream is open.
func TestServeMCPListens(t *testing.T) {
	t.Parallel()
	s := newYard(t).serve()
	defer s.end()
	s.enter()
	word, _ := s.token("mcp.*", "runs.*")
	status, h, text := s.mcp(word, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second) // by far less than an answer may take
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+word)
	r.Header.Set("Mcp-Session-Id", h.Get("Mcp-Session-Id"))
	a, err := s.client.Do(r)
	if err != nil {
		t.Fatal("nothing comes while it is open: ", err)
	}
	defer a.Body.Close()
	if line, err := bufio.NewReader(a.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
		t.Errorf("%q, %v", line, err)
	}
}

// An agent whose token is for one workspace has what it starts run there, and knows of
// nothing else.
func TestServeMCPWithin(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serveIn(append(slices.Clone(y.command().Env), "PADDOCK_WORKSPACES="+filepath.Join(y.work, "proj")))
	s.enter()
	var elsewhere paddock.Run
	for _, name := range []string{"site", "other"} {
		s.ask(http.MethodPost, "/api/v1/workspaces", `{"name":"`+name+`"}`, http.StatusCreated, nil)
	}
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","say","secret"],"workspace":"other"}`, http.StatusCreated, &elsewhere)
	word, _ := s.tokenFor("site", "mcp.*", "runs.*")
	plain := &http.Transport{}
	defer plain.CloseIdleConnections()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearing{word, plain}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // the server has ended by then
	tool := func(name string, in map[string]any) (text string, refused bool) {
		t.Helper()
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		return string(out), r.IsError
	}
	text, refused := tool("run_command_bg", map[string]any{"argv": []string{"prog", "pwd"}})
	var started struct {
		TaskID paddock.RunID
		Cwd    string
	}
	if err := json.Unmarshal([]byte(text), &started); err != nil || refused || !strings.HasSuffix(started.Cwd, "/proj/admin/site") {
		t.Fatalf("%s, %v", text, err)
	}
	if text, refused := tool("command_status", map[string]any{"taskId": started.TaskID, "waitMs": 45_000}); refused || !strings.Contains(text, "/proj/admin/site") || !strings.Contains(text, `"exited"`) {
		t.Error(text)
	}
	for _, in := range []map[string]any{{"workspace": "other"}, {"cwd": filepath.Join(y.work, "proj/admin/other")}, {"cwd": "../other"}, {"stdin": map[string]any{"taskId": elsewhere.ID}}} {
		in["argv"] = []string{"prog", "pwd"}
		if text, refused := tool("run_command_bg", in); !refused || strings.Contains(text, "secret") {
			t.Errorf("%v: %s", in, text)
		}
	}
	if text, refused := tool("command_output", map[string]any{"taskId": elsewhere.ID}); !refused || strings.Contains(text, "secret") {
		t.Error(text)
	}
	if text, refused := tool("command_list", map[string]any{}); refused || strings.Contains(text, string(elsewhere.ID)) || !strings.Contains(text, string(started.TaskID)) {
		t.Error(text)
	}
	s.end()
}

// Sessions of earlier revisions are their token's, as far as that goes, and end with the
// server; runs don't.
func TestServeMCPSessions(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	s.enter()
	all, _ := s.token("mcp.*", "runs.*")
	less, _ := s.token("mcp.use", "runs.read")
	none, _ := s.token("runs.*")
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`
	if status, h, _ := s.mcp(none, "", hello); status != http.StatusForbidden || !strings.Contains(h.Get("WWW-Authenticate"), `scope="mcp.use"`) {
		t.Errorf("without the scope: %d %v", status, h)
	}
	status, h, body := s.mcp(all, "", hello)
	session := h.Get("Mcp-Session-Id")
	if status != http.StatusOK || session == "" || !strings.Contains(body, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("%d %v %s", status, h, body)
	}
	s.mcp(all, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call := func(tool, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	}
	start := call("run_command_bg", `{"argv":["prog","say","hi"]}`)
	if status, _, body := s.mcp(all, session, start); status != http.StatusOK || !strings.Contains(body, `"taskId":"r`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body := s.mcp(less, session, start); status != http.StatusNotFound {
		t.Errorf("a lesser token gets at the session of a greater: %d %s", status, body)
	}
	_, h, _ = s.mcp(less, "", hello)
	if status, _, body := s.mcp(less, h.Get("Mcp-Session-Id"), start); status != http.StatusOK || !strings.Contains(body, `unknown tool`) {
		t.Errorf("a lesser token starts a run: %d %s", status, body)
	}
	if status, _, body := s.mcp(all, session, call("run_command_bg", `{"argv":["prog"],"argv":["sh"]}`)); status != http.StatusOK || !strings.Contains(body, "invalid_request") {
		t.Errorf("said twice: %d %s", status, body)
	}
	s.end()
	s = y.serve()
	defer s.end()
	if status, _, body := s.mcp(all, session, start); status != http.StatusNotFound || !strings.Contains(body, "Begin one by initialize") {
		t.Errorf("after the server ended: %d %s", status, body)
	}
	_, h, _ = s.mcp(all, "", hello)
	if _, _, body := s.mcp(all, h.Get("Mcp-Session-Id"), call("command_list", `{}`)); !strings.Contains(body, `"prog"`) {
		t.Errorf("the run is gone: %s", body)
	}
}

// A run is a task to a client that knows tasks: it is found by its id alone, by another
// token of the same account and after the server ended, and by nobody else.
func TestServeMCPTasks(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	s.enter()
	word, _ := s.token("mcp.*", "runs.*")
	other, _ := s.token("mcp.use", "runs.start", "runs.read")
	task := func(token, method, name, rest string) (status int, body string) {
		t.Helper()
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		status, _, body = s.mcp(token, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, meta, rest),
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
		return status, body
	}
	gate := filepath.Join(y.work, "gate")
	_, body := task(word, "tools/call", "run_command_bg", `"name":"run_command_bg","arguments":{"argv":["prog","until",`+quoteJSON(gate)+`]}`)
	_, id, found := strings.Cut(body, `"taskId":"`)
	if id, _, _ = strings.Cut(id, `"`); !found || !strings.Contains(body, `"resultType":"task"`) {
		t.Fatalf("start: %s", body)
	}
	if status, body := task(other, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id)); status != http.StatusOK || !strings.Contains(body, `"status":"working"`) {
		t.Errorf("meanwhile: %d %s", status, body)
	}
	if status, body := task(other, "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id)); !strings.Contains(body, `"error"`) {
		t.Errorf("who may not end runs ends one: %d %s", status, body)
	}
	if status, body := task(word, "tasks/get", "x", fmt.Sprintf(`"taskId":%q`, id)); status != http.StatusBadRequest || !strings.Contains(body, "-32020") {
		t.Errorf("by another name: %d %s", status, body)
	}
	s.end()
	s = y.serve()
	defer s.end()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		status, body := task(word, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		if strings.Contains(body, `"status":"completed"`) {
			if !strings.Contains(body, `"exitCode":0`) || !strings.Contains(body, `ready\\ndone`) {
				t.Errorf("at the end: %s", body)
			}
			return
		}
		_, wait := task(word, "tools/call", "command_status", fmt.Sprintf(`"name":"command_status","arguments":{"taskId":%q,"waitMs":45000}`, id))
		if !strings.Contains(wait, id) {
			t.Fatalf("waiting: %s", wait)
		}
	}
}

// What of the official suite asks for no tools of its own finds nothing wrong with the
// server as it is. Without `make conformance` a part of it is played, if it was ever got.
func TestServeMCPConformance(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("PADDOCK_CONFORMANCE")
	whole := dir != ""
	if !whole {
		var err error
		if dir, err = filepath.Abs("../../bin/conformance"); err != nil {
			t.Fatal(err)
		}
	}
	suite := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	node, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if _, missing := os.Stat(suite); err != nil || missing != nil || len(node) == 0 {
		if whole {
			t.Fatalf("the conformance suite isn't in %s: %v, %v", dir, missing, node)
		}
		t.Skip("the conformance suite isn't here; `make conformance` gets it")
	}
	y := newYard(t)
	s := y.serve()
	defer s.end()
	s.enter()
	word, _ := s.token("mcp.*", "runs.*", "tasks.*")
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Transport{}
	defer plain.CloseIdleConnections()
	// The suite shows no token: what stands between does.
	between := httptest.NewServer(&httputil.ReverseProxy{Transport: plain, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host // as the suite says it
		r.Out.Header.Set("Authorization", "Bearer "+word)
	}})
	defer between.Close()
	for revision, scenarios := range map[string][]string{ // the first two are the part
		"2025-11-25": {"server-session-lifecycle", "tools-list", "server-initialize", "ping", "dns-rebinding-protection"},
		"2026-07-28": {"http-header-validation", "tools-list", "dns-rebinding-protection"},
	} {
		if !whole {
			scenarios = scenarios[:2]
		}
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				out := t.TempDir()
				cmd := testproc.Command(t, node[0], suite, "server", "--url", between.URL+"/mcp", "--spec-version", revision, "--scenario", scenario, "--output-dir", out)
				cmd.Dir = out
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			})
		}
	}
}
