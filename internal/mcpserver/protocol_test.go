package mcpserver

import (
	"bytes"
	"encoding/json/jsontext"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/texts"
)

var update = flag.Bool("update", false, "rewrite golden files")

// stateless is the _meta that every request of revision 2026-07-28 carries.
const stateless = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}`

func TestHandshakeRevisions(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05",
		"2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", // has no handshake: the newest that has
		"1999-01-01": "2025-11-25",
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			c := dial(t, Config{App: &fake{}, Version: "1.2.3"})
			hello := parse[struct {
				ProtocolVersion string
				ServerInfo      struct{ Name, Version string }
				Capabilities    jsontext.Value
				Instructions    string
			}](t, c.greet(asked).Result)
			if hello.ProtocolVersion != want {
				t.Errorf("revision: got %s, want %s", hello.ProtocolVersion, want)
			}
			if hello.ServerInfo.Name != "paddock" || hello.ServerInfo.Version != "1.2.3" {
				t.Errorf("server: %+v", hello.ServerInfo)
			}
			if got := string(hello.Capabilities); got != `{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}` {
				t.Errorf("capabilities: %s", got)
			}
			run := ok[answer.Started](c, "run_command_bg", `{"argv":["go","version"]}`)
			if got := ok[answer.Status](c, "command_status", fmt.Sprintf(`{"taskId":%q}`, run.TaskID)); got.State != paddock.Running {
				t.Errorf("state: %s", got.State)
			}
			if err := c.leave(); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestStatelessRevision(t *testing.T) {
	t.Parallel()
	c := dial(t, Config{App: &fake{}})
	found := parse[struct{ SupportedVersions []string }](t, c.ask("server/discover", `{`+stateless+`}`).Result)
	want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	if diff := cmp.Diff(want, found.SupportedVersions); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	if list := c.ask("tools/list", `{`+stateless+`}`); strings.Count(string(list.Result), `"inputSchema"`) != 9 {
		t.Errorf("tools/list: %s", list.raw)
	}
	m := c.ask("tools/call", `{`+stateless+`,"name":"run_command_bg","arguments":{"argv":["go"]}}`)
	r := c.result(m)
	if r.IsError || r.ResultType != "complete" {
		t.Errorf("call: %s", m.raw)
	}
	m = c.ask("tools/call", `{`+stateless+`,"name":"run_command_bg","arguments":{"argv":null}}`)
	if r := c.result(m); !r.IsError {
		t.Errorf("null argv: %s", m.raw)
	}
	future := strings.Replace(stateless, "2026-07-28", "2030-01-01", 1)
	if m := c.ask("tools/list", `{`+future+`}`); m.Error == nil || m.Error.Code != -32022 {
		t.Errorf("a revision of the future: %s", m.raw)
	}
}

func TestToolsGolden(t *testing.T) {
	t.Parallel()
	c := connect(t, Config{App: &fake{}, Trees: &grove{}, Words: func() []string { return []string{"go", "/usr/bin/git"} }})
	got := c.ask("tools/list", `{}`).Result
	if err := got.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", "tools.golden.json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("tools/list has changed; if that is wanted, run with -update.\n%s", cmp.Diff(string(want), string(got)))
	}
}

func TestTextsAreShort(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 500 {
		words = append(words, fmt.Sprintf("/usr/local/bin/program-%d", i))
	}
	s := &session{Config: Config{Words: func() []string { return words }}}
	for _, tool := range s.tools() {
		if n := len(tool.Description); n < 100 || n > 1600 {
			t.Errorf("%s: description of %d bytes", tool.Name, n)
		}
	}
	if n := len(texts.Instructions); n > 1000 {
		t.Errorf("instructions of %d bytes", n)
	}
	text := texts.Permitted(words)
	if len(text) > 600 || !strings.Contains(text, "more") {
		t.Errorf("permitted words: %d bytes: %s", len(text), text)
	}
	if got := texts.Permitted(nil); got != "" {
		t.Errorf("no words: %q", got)
	}
}

func TestMalformedLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       string // in the answer; "" means that there is none
	}{
		{"not JSON", `hello`, `"id":null`},
		{"cut off", `{"jsonrpc":"2.0","id":900,"method":"ping"`, `-32700`},
		{"two values", `{"jsonrpc":"2.0","id":900,"method":"ping"} {}`, `more than one`},
		{"empty", ``, ``},
		{"blank", "  \t ", ``},
		{"carriage return", "\r", ``},
		{"a string", `"ping"`, `-32600`},
		{"null", `null`, `-32600`},
		{"no version", `{"id":900,"method":"ping"}`, `"id":900`},
		{"old version", `{"jsonrpc":"1.0","id":900,"method":"ping"}`, `"id":900`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `the id must be`},
		{"fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `the id must be`},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"error"`},
		{"huge id", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, `the id must be`},
		{"duplicate id", `{"jsonrpc":"2.0","id":900,"id":901,"method":"ping"}`, `"id":null`},
		{"duplicate method", `{"jsonrpc":"2.0","id":900,"method":"ping","method":"tools/list"}`, `"id":900`},
		{"method is a number", `{"jsonrpc":"2.0","id":900,"method":5}`, `-32600`},
		{"unknown method", `{"jsonrpc":"2.0","id":900,"method":"nope","params":{}}`, `-32601`},
		{"unknown tool", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"bash","arguments":{}}}`, `unknown tool`},
		{"no params", `{"jsonrpc":"2.0","id":900,"method":"tools/call"}`, `"error"`},
		{"params is an array", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":[1]}`, `"error"`},
		{"a raw NUL", "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"ping\x00\"}", `-32700`},
		{"bad UTF-8 elsewhere", "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", `UTF-8`},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":77,"result":{}}`, ``},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/nope"}`, ``},
		{"cancels nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":555}}`, ``},
		{"cancels nonsense", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`, ``},
		{"deep", `{"jsonrpc":"2.0","id":900,"method":"ping","params":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, `"error"`},
		{"deeper", strings.Repeat("[", 200000), `-32700`},
		{"empty batch", `[]`, `a batch holds`},
		{"batch of nonsense", `[1,2]`, `in a batch`},
		{"batch using an id twice", `[{"jsonrpc":"2.0","id":900,"method":"ping"},{"jsonrpc":"2.0","id":900,"method":"ping"}]`, `used twice`},
		{"great batch", `[` + strings.Repeat(`{"jsonrpc":"2.0","id":900,"method":"ping"},`, 100) + `1]`, `a batch holds`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, Config{App: &fake{}})
			c.send(test.line)
			// What comes after is still served, in order with what was said before.
			if m := c.ask("tools/list", `{}`); m.Error != nil {
				t.Fatalf("afterwards: %s", m.raw)
			}
			if test.want == "" {
				select {
				case m := <-c.stray:
					t.Errorf("answered %s", m.raw)
				default:
				}
				return
			}
			if m := <-c.stray; !strings.Contains(m.raw, test.want) {
				t.Errorf("got %s\nwant %s in it", m.raw, test.want)
			}
		})
	}
}

// A tool call that can't be accepted is a tool error, so that a model sees it.
func TestMalformedToolCalls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	tests := []struct{ name, line, want string }{
		{"long, id first", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["` + long + `"]}}}`, "longer than"},
		{"long, id last", `{"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["\"id\":5,` + long + `"]}},"jsonrpc":"2.0","id":900}`, "longer than"},
		{"duplicate argv", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["true"],"argv":["rm"]}}}`, "duplicate name"},
		{"duplicate by escape", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["true"],"arg\u0076":["rm"]}}}`, "duplicate name"},
		{"duplicate arguments", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["true"]},"arguments":{"argv":["rm"]}}}`, "duplicate name"},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"tools/call\",\"params\":{\"name\":\"run_command_bg\",\"arguments\":{\"argv\":[\"\xff\xfe\"]}}}", "UTF-8"},
		{"half a surrogate", `{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["\ud800"]}}}`, "UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			app := &fake{}
			c := connect(t, Config{App: app})
			reply := c.expect("900")
			c.send(test.line)
			r := c.result(<-reply)
			refusal := parse[answer.Refusal](t, r.Structured)
			if !r.IsError || refusal.Code != paddock.InvalidRequest || !strings.Contains(refusal.Message, test.want) {
				t.Errorf("got %+v, want invalid_request with %q", refusal, test.want)
			}
			if len(app.asked) != 0 {
				t.Errorf("a run was asked for: %v", app.asked)
			}
			if m := c.ask("ping", `{}`); m.Error != nil {
				t.Errorf("afterwards: %s", m.raw)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	c := dial(t, Config{App: &fake{}})
	c.greet("2025-03-26")
	a, b := c.expect(`"a"`), c.expect("901")
	c.send(`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/nope"},{"jsonrpc":"2.0","id":901,"method":"tools/list"}]`)
	if m := <-c.stray; !strings.HasPrefix(m.raw, "[") {
		t.Errorf("answers came one by one: %s", m.raw)
	}
	if m := <-a; m.Error != nil {
		t.Errorf("ping: %s", m.raw)
	}
	if m := <-b; m.Error != nil {
		t.Errorf("list: %s", m.raw)
	}
}

func TestIdInUse(t *testing.T) {
	t.Parallel()
	f := &fake{}
	id := f.add(me, "sleep")
	c := connect(t, Config{App: f})
	reply := c.expect("900")
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"command_status","arguments":{"taskId":%q,"waitMs":40000}}}`, id)
	c.send(line)
	c.send(line)
	if m := <-c.stray; !strings.Contains(m.raw, "in flight") || !strings.Contains(m.raw, `"id":null`) {
		t.Errorf("the second: %s", m.raw)
	}
	f.change(id, func(r *fakeRun) { r.exit(0) })
	if r := c.result(<-reply); r.IsError {
		t.Errorf("the first: %+v", r)
	}
}
