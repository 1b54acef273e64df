package remote

import (
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/mcpserver"
	"paddock/internal/mcpserver/wire/streamable"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/store"
)

// kept are the workspaces of one account.
type kept struct{ all }

type all = store.Workspaces

func (kept) WorkspaceNamed(_ context.Context, owner store.UserID, name string) (store.Workspace, error) {
	if owner != "uann" || !slices.Contains([]string{"site", "other", "third"}, name) {
		return store.Workspace{}, store.ErrNotFound
	}
	return store.Workspace{ID: "w", Owner: owner, Name: name, Root: "/srv", Path: "ann/" + name}, nil
}

// A stock has runs, says what was asked about which, and is nil, so a panic, for
// every verb that isn't held to workspaces.
type stock struct {
	Verbs
	mu    sync.Mutex
	runs  []paddock.Run
	asked []string
	began []paddock.Command
}

func (s *stock) note(verb string, id paddock.RunID) (paddock.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		if r.ID == id {
			s.asked = append(s.asked, verb+" "+r.Workspace)
			return r, nil
		}
	}
	return paddock.Run{}, paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
}

func (s *stock) Look(_ context.Context, _ paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return s.note("look", id)
}

func (s *stock) Status(_ context.Context, _ paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return s.note("status", id)
}

func (s *stock) Wait(_ context.Context, _ paddock.Principal, id paddock.RunID, _ time.Duration) (paddock.Run, error) {
	return s.note("wait", id)
}

func (s *stock) Output(_ context.Context, _ paddock.Principal, id paddock.RunID, _ paddock.PageRequest) (paddock.Page, error) {
	r, err := s.note("output", id)
	return paddock.Page{Content: r.Label, EOF: true, Encoding: "utf-8", Stream: paddock.Stdout}, err
}

func (s *stock) Kill(_ context.Context, _ paddock.Principal, id paddock.RunID, _ app.KillRequest) (paddock.Run, error) {
	return s.note("kill", id)
}

func (s *stock) List(context.Context, paddock.Principal, app.Filter) (app.Listing, error) {
	return app.Listing{Runs: s.runs}, nil
}

func (s *stock) Start(_ context.Context, req paddock.Request) (paddock.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = append(s.began, req.Command)
	return s.runs[0], nil
}

func (s *stock) Approval(context.Context, paddock.Principal, paddock.ApprovalID) (paddock.Approval, error) {
	return paddock.Approval{Matter: paddock.Matter{Root: "/srv/ann/other"}}, nil
}

// token is one of ann's, with every scope that there is, for some workspaces.
func token(in ...string) gate.Caller {
	who := auth.Who{User: "uann", Name: "ann", Role: auth.Operator, Token: "t", Workspaces: in}
	for _, v := range auth.Verbs() {
		who.Scopes = append(who.Scopes, string(v))
	}
	return gate.Caller{Name: "ann", Role: gate.Operator, Who: who}
}

func newStock(t *testing.T) *stock {
	t.Helper()
	s := &stock{}
	for _, dir := range []string{"/srv/ann/site", "/srv/ann/site/tree", "/srv/ann/other", "/srv/ann/sites", "/srv/bob/site", ""} {
		id, err := paddock.NewRunID(time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.runs = append(s.runs, paddock.Run{ID: id, Workspace: dir, Label: "in " + dir, Argv: []string{"x"}, State: paddock.Running, Principal: token().Self()})
	}
	return s
}

// A stand is /mcp, without the door before it, for whoever a request says it is from.
type stand struct {
	t      *testing.T
	server *Server
	url    string
	who    map[string]gate.Caller
}

func open(t *testing.T, s Verbs) *stand {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	x := &stand{t: t, who: map[string]gate.Caller{}, server: &Server{
		config: func(p paddock.Principal) mcpserver.Config {
			yes := func() bool { return true }
			return mcpserver.Config{Principal: p, Git: yes, Delegates: yes, Log: log}
		},
		verbs: s, spaces: workspaces.New(workspaces.Config{Store: kept{}, Roots: []string{"/srv"}, Now: time.Now}),
		door: streamable.New(t.Context(), streamable.Config{Limits: streamable.DefaultLimits(), ToolError: mcpserver.ToolError, Log: log, Now: time.Now}),
	}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.server.serve(w, r, x.who[r.Header.Get("Authorization")], func() error { return nil })
	}))
	x.url = web.URL
	t.Cleanup(func() { x.server.Close(); web.Close() })
	return x
}

type bearing struct {
	word string
	next *http.Transport
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", b.word)
	return b.next.RoundTrip(r)
}

func (x *stand) enter(word string, who gate.Caller) *mcp.ClientSession {
	x.t.Helper()
	x.who[word] = who
	plain := &http.Transport{}
	x.t.Cleanup(plain.CloseIdleConnections)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil).Connect(x.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: x.url, HTTPClient: &http.Client{Transport: bearing{word, plain}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = c.Close() })
	return c
}

// call calls a tool and returns the code with which it was refused, if it was.
func (x *stand) call(c *mcp.ClientSession, tool string, in any) (text string, code paddock.Code) {
	x.t.Helper()
	r, err := c.CallTool(x.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error(), "unknown"
	}
	out, err := json.Marshal(r.StructuredContent, json.Deterministic(true))
	if err != nil {
		x.t.Fatal(err)
	}
	var refusal struct {
		Code paddock.Code `json:"code"`
	}
	if r.IsError {
		if err := json.Unmarshal(out, &refusal); err != nil || refusal.Code == "" {
			x.t.Errorf("%s: %s", tool, out)
		}
	}
	return string(out), refusal.Code
}

// Every tool is either held to the workspaces of a token, or isn't there for it.
func TestEveryToolWithin(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	x := open(t, s)
	c := x.enter("site", token("site"))
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	held := map[string]func(paddock.RunID) any{
		"command_status":   func(id paddock.RunID) any { return map[string]any{"taskId": id} },
		"command_output":   func(id paddock.RunID) any { return map[string]any{"taskId": id} },
		"command_kill":     func(id paddock.RunID) any { return map[string]any{"taskId": id} },
		"retrieve_context": func(id paddock.RunID) any { return map[string]any{"artifactId": id} },
		"run_command_bg": func(id paddock.RunID) any {
			return map[string]any{"argv": []string{"cat"}, "stdin": map[string]any{"taskId": id}}
		},
	}
	for _, tool := range table.Tools {
		args, ok := held[tool]
		switch {
		case tool == "command_list":
			text, code := x.call(c, tool, map[string]any{})
			for _, r := range s.runs {
				if in := strings.HasPrefix(r.Workspace+"/", "/srv/ann/site/"); strings.Contains(text, string(r.ID)) != in || code != "" {
					t.Errorf("a list has, or lacks, what is in %q: %s", r.Workspace, text)
				}
			}
		case !ok:
			if _, code := x.call(c, tool, map[string]any{}); code != "unknown" || slices.Contains(names, tool) {
				t.Errorf("%s is there for it: %s", tool, code)
			}
		default:
			unknown, err := paddock.NewRunID(time.Now(), nil)
			if err != nil {
				t.Fatal(err)
			}
			none, code := x.call(c, tool, args(unknown))
			if code != paddock.NotFound {
				t.Errorf("%s of what isn't there: %s", tool, none)
			}
			for _, r := range s.runs {
				in := strings.HasPrefix(r.Workspace+"/", "/srv/ann/site/")
				text, code := x.call(c, tool, args(r.ID))
				if in != (code == "") || !in && strings.ReplaceAll(text, string(r.ID), "") != strings.ReplaceAll(none, string(unknown), "") {
					t.Errorf("%s of what is in %q: %s", tool, r.Workspace, text)
				}
			}
		}
	}
	for _, tool := range trees {
		for _, in := range []string{"other", "none", "../site"} {
			args := map[string]any{"workspace": in, "rev": "main"}
			switch tool {
			case "worktree_list":
				args = map[string]any{"workspace": in}
			case "worktree_remove":
				args = map[string]any{"worktree": in + "/wt-1"}
			}
			if text, code := x.call(c, tool, args); code != paddock.NotFound && (in != "../site" || code != paddock.InvalidRequest) {
				t.Errorf("%s in %s: %s", tool, in, text)
			}
		}
	}
	if len(names) != len(held)+1+len(trees) {
		t.Errorf("it has %q", names)
	}
	for _, asked := range s.asked {
		verb, dir, _ := strings.Cut(asked, " ")
		if verb != "look" && dir != "/srv/ann/site" && dir != "/srv/ann/site/tree" {
			t.Errorf("%s reached what is in %q", verb, dir)
		}
	}
}

// What is started is started in a workspace of the token, whatever is asked for.
func TestStartsWithin(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		who  gate.Caller
		name string // of the workspace that is asked for
		dir  string
		code paddock.Code
	}{
		{token("site"), "", "/srv/ann/site", ""},
		{token("site"), "site", "/srv/ann/site", ""},
		{token("site"), "site/tree", "/srv/ann/site/tree", ""},
		{token("site", "other"), "other", "/srv/ann/other", ""},
		{token("site", "other"), "", "", paddock.Forbidden},
		{token("site", "other"), "third", "", paddock.NotFound},
		{token("site"), "other", "", paddock.NotFound},
		{token("site"), "nosuch", "", paddock.NotFound},
		{token("nosuch"), "", "", paddock.NotFound},
		{token(), "", "", paddock.Forbidden},
		{token(), "site", "", paddock.NotFound},
		{token("site"), "site/../other", "", paddock.NotFound},
		{token("site"), "../other", "", paddock.NotFound},
		{token("site"), "/srv/ann/other", "", paddock.NotFound},
		{token("site"), "site/", "", paddock.NotFound},
		{token("site"), "SITE", "", paddock.NotFound},
		{token("site"), "*", "", paddock.NotFound},
		{token("site"), "site\x00", "", paddock.InvalidRequest},
		{token("site"), strings.Repeat("x", 100_000), "", paddock.NotFound},
		{token("*"), "", "", ""},
		{token("*"), "third", "/srv/ann/third", ""},
		{token("*"), "nosuch", "", paddock.NotFound},
	} {
		s := newStock(t)
		x := open(t, s)
		in := map[string]any{"argv": []string{"make"}, "cwd": "sub"}
		if one.name != "" {
			in["workspace"] = one.name
		}
		if slices.Contains(one.who.Who.Workspaces, "*") {
			s.Verbs = counted{}
		}
		text, code := x.call(x.enter("word", one.who), "run_command_bg", in)
		if code != one.code || (code == "") != (len(s.began) == 1) {
			t.Errorf("%.60q of a token for %q: %s", one.name, one.who.Who.Workspaces, text)
		}
		if len(s.began) == 1 && (s.began[0].Workspace != one.dir || s.began[0].Dir != "sub") {
			t.Errorf("%q of a token for %q: %+v", one.name, one.who.Who.Workspaces, s.began)
		}
	}
}

// counted are verbs that count.
type counted struct{ Verbs }

func (counted) Counters(context.Context, paddock.Principal) (app.Counters, error) {
	return app.Counters{}, nil
}

// A session isn't found by a token for other workspaces, nor by one for all.
func TestSessionsWithin(t *testing.T) {
	t.Parallel()
	x := open(t, newStock(t))
	x.who["site"], x.who["other"], x.who["all"], x.who["both"], x.who["again"] = token("site"), token("other"), token("*"), token("other", "site"), token("site")
	post := func(word, session, body string) (status int, given string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": word, "Mcp-Session-Id": session, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, a.Body)
		if err = errors.Join(err, a.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header.Get("Mcp-Session-Id")
	}
	_, session := post("site", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}`)
	for word, want := range map[string]int{"other": 404, "all": 404, "both": 404, "again": 200} {
		if got, _ := post(word, session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); session == "" || got != want {
			t.Errorf("%s in session %q: %d, want %d", word, session, got, want)
		}
	}
}

// Every verb that isn't held to workspaces is refused also to who gets past the list of
// tools, and nothing behind it is asked.
func TestEveryVerbWithin(t *testing.T) {
	t.Parallel()
	s := newStock(t)
	x := open(t, s)
	verbs := reflect.ValueOf(x.server.good(token("site")))
	held := []string{"Start", "Status", "Wait", "Output", "Kill", "List"}
	if n := reflect.TypeFor[mcpserver.Verbs]().NumMethod(); n < len(held) || verbs.NumMethod() != n {
		t.Errorf("%d verbs of %d: one that nobody wrote down here is reached", verbs.NumMethod(), n)
	}
	for i := range verbs.NumMethod() {
		name, method := verbs.Type().Method(i).Name, verbs.Method(i)
		in := make([]reflect.Value, method.Type().NumIn())
		for j := range in {
			in[j] = reflect.New(method.Type().In(j)).Elem()
		}
		in[0] = reflect.ValueOf(t.Context())
		out := method.Call(in)
		err, _ := out[len(out)-1].Interface().(error)
		r, refused := errors.AsType[*paddock.Refusal](err)
		switch {
		case name == "List":
			if err != nil {
				t.Error(err)
			}
		case slices.Contains(held, name) && name != "Start" || name == "Approval":
			if !refused || r.Code != paddock.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		case !refused || r.Code != paddock.Forbidden:
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.began) != 0 || len(s.asked) != 0 {
		t.Errorf("%v, %q", s.began, s.asked)
	}
	x.server.spaces = nil // where nobody knows workspaces, such a token has nothing
	if l, err := x.server.good(token("site")).List(t.Context(), token().Self(), app.Filter{}); err != nil || len(l.Runs) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
