package mcpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/mcpserver/answer"
)

// schemas resolves what the server publishes, as a client would.
func schemas(t testing.TB, c *client) (in, out map[string]*jsonschema.Resolved) {
	t.Helper()
	list := parse[struct {
		Tools []struct {
			Name                      string
			InputSchema, OutputSchema jsontext.Value
		}
	}](t, c.ask("tools/list", `{}`).Result)
	in, out = map[string]*jsonschema.Resolved{}, map[string]*jsonschema.Resolved{}
	for _, tool := range list.Tools {
		in[tool.Name], out[tool.Name] = resolve(t, tool.InputSchema), resolve(t, tool.OutputSchema)
	}
	return in, out
}

func resolve(t testing.TB, doc jsontext.Value) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(doc); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func validate(s *jsonschema.Resolved, doc []byte) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

func taskArgs(id paddock.RunID, more string) string { return fmt.Sprintf(`{"taskId":%q%s}`, id, more) }

func TestStartPassesEverythingOn(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	earlier := f.add(me, "seq")
	got := ok[answer.Started](c, "run_command_bg", fmt.Sprintf(`{"argv":["go","test","-run","\u0000é漢"],"cwd":"sub","timeoutMs":2592000000,`+
		`"label":"tests","stdin":{"taskId":%q,"stream":"stderr"},"env":{"CI":"1"},"outputLimit":4096,"idempotencyKey":"k1"}`, earlier))
	want := paddock.Request{
		Principal: me, Door: paddock.DoorMCP, IdempotencyKey: "k1",
		Command: paddock.Command{
			Argv: []string{"go", "test", "-run", "\x00é漢"}, Dir: "sub", Env: map[string]string{"CI": "1"},
			Stdin:   paddock.Stdin{Run: earlier, Stream: paddock.Stderr},
			Timeout: paddock.Duration(30 * 24 * time.Hour), OutputLimit: 4096, Label: "tests",
		},
	}
	if diff := cmp.Diff([]paddock.Request{want}, f.asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got.State != paddock.Running || got.StartedAt == nil || *got.Running != 2 || *got.Finished != 0 {
		t.Errorf("result: %+v", got)
	}
	if diff := cmp.Diff(want.Command.Argv, got.Argv); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
}

func TestStdinTextMayBeEmpty(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	ok[answer.Started](c, "run_command_bg", `{"argv":["cat"],"stdin":{"text":""}}`)
	if text := f.asked[0].Command.Stdin.Text; text == nil || *text != "" {
		t.Errorf("text: %v", text)
	}
}

func TestFailedToStartIsAResult(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	id := f.add(me, "gone")
	f.change(id, func(r *fakeRun) {
		r.settle(paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart, Step: "execve", Detail: "no such file"})
	})
	got := ok[answer.Status](c, "command_status", taskArgs(id, ""))
	if got.State != paddock.FailedToStart || got.ExitCode != nil || got.Error != "could not be started (execve): no such file" {
		t.Errorf("got %+v", got)
	}
}

func TestStatusOfLife(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	id := f.add(me, "go", "vet")
	if got := ok[answer.Status](c, "command_status", taskArgs(id, "")); got.Settled || got.TailPreview != "(no output yet)" || got.Reason != nil || *got.Running != 1 {
		t.Errorf("at first: %+v", got)
	}
	f.change(id, func(r *fakeRun) { r.stdout = []byte("hello\n"); r.exit(7) })
	if got := ok[answer.Listing](c, "command_list", `{}`); *got.Running != 0 || *got.Finished != 1 {
		t.Errorf("ended and not read: %+v", got.Counters)
	}
	got := ok[answer.Status](c, "command_status", taskArgs(id, ""))
	if !got.Settled || *got.ExitCode != 7 || got.Error != "" || got.Reason.Kind != paddock.ReasonExit || got.StdoutDigest == "" ||
		got.StdoutBytes != 6 || got.TailPreview != "hello\n" || *got.Finished != 0 || got.DurationMs != 1500 {
		t.Errorf("at last: %+v", got)
	}
	silent := f.add(me, "true")
	f.change(silent, func(r *fakeRun) { r.exit(0) })
	if got := ok[answer.Status](c, "command_status", taskArgs(silent, "")); got.TailPreview != "(no output)" {
		t.Errorf("a silent one: %q", got.TailPreview)
	}
}

func TestReasonsInWords(t *testing.T) {
	t.Parallel()
	one := 1
	tests := map[string]paddock.Reason{
		"": {Kind: paddock.ReasonExit, ExitCode: &one},
		"ended by SIGSEGV, which Paddock did not send":                                      {Kind: paddock.ReasonSignal, Signal: "SIGSEGV"},
		"ended on request: enough":                                                          {Kind: paddock.ReasonKill, Why: "enough"},
		"ended on request":                                                                  {Kind: paddock.ReasonKill},
		"ended because the program that asked for it gave up":                               {Kind: paddock.ReasonAbort},
		"ended because its owner shut down":                                                 {Kind: paddock.ReasonShutdown},
		"ended because whoever it was tied to is gone":                                      {Kind: paddock.ReasonCallerGone},
		"ended because its time was over: 2m0s":                                             {Kind: paddock.ReasonTimeout, Limit: 120000},
		"ended because stderr passed its limit of 10 bytes; everything up to there is kept": {Kind: paddock.ReasonOutputLimit, Stream: paddock.Stderr, Limit: 10},
		"ended because it needed more memory than its limit of 10 bytes; use less at once (fewer jobs, smaller inputs), or ask the operator to raise `limits.memory`": {Kind: paddock.ReasonOutOfMemory, Limit: 10, Signal: "SIGKILL"},
		"ended because its output could not be kept: disk full":                  {Kind: paddock.ReasonSink, Detail: "disk full"},
		"its supervisor vanished without writing how it ended: pid 5 is another": {Kind: paddock.ReasonLost, Evidence: &paddock.Evidence{Note: "pid 5 is another"}},
		"the machine restarted while it ran":                                     {Kind: paddock.ReasonHost},
	}
	for want, reason := range tests {
		if got := answer.Explain(paddock.Run{Outcome: &paddock.Outcome{Reason: reason}}); got != want {
			t.Errorf("%s: got %q, want %q", reason.Kind, got, want)
		}
	}
	if got := answer.Explain(paddock.Run{}); got != "" {
		t.Errorf("running: %q", got)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	id := f.add(me, "sleep")
	got := ok[answer.Status](c, "command_kill", taskArgs(id, `,"signal":"INT","reason":"stuck"`))
	if got.State != paddock.Killed || got.Reason.By != me.ID || got.Reason.Why != "stuck" || got.Error != "ended on request: stuck" {
		t.Errorf("got %+v", got)
	}
	if k := f.killed[0]; k.Signal != "INT" || k.Reason != "stuck" || k.NoWait {
		t.Errorf("asked for %+v", k)
	}
	if again := ok[answer.Status](c, "command_kill", taskArgs(id, `,"reason":"again"`)); again.Reason.Why != "stuck" {
		t.Errorf("again: %+v", again.Reason)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	if got := c.call("command_list", `{}`); !strings.Contains(string(got.Structured), `"tasks":[]`) {
		t.Errorf("none: %s", got.Structured)
	}
	var want, seen []paddock.RunID
	for range 7 {
		want = append([]paddock.RunID{f.add(me, "go", strings.Repeat("é", 400), "lost")}, want...)
		f.add(stranger, "secret")
	}
	for before := ""; ; {
		got := ok[answer.Listing](c, "command_list", fmt.Sprintf(`{"limit":3,"before":%q}`, before))
		for _, task := range got.Tasks {
			seen = append(seen, task.TaskID)
			if task.Words != 3 || len(task.Argv) != 2 || len(task.Argv[1]) > 510 {
				t.Errorf("argv: %d words, %d bytes", len(task.Argv), len(task.Argv[1]))
			}
		}
		if got.Next == "" {
			break
		}
		before = string(got.Next)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	f.change(want[0], func(r *fakeRun) { r.exit(0) })
	if got := ok[answer.Listing](c, "command_list", `{"active":true}`); len(got.Tasks) != 6 {
		t.Errorf("active: %d", len(got.Tasks))
	}
}

// Pages read one after another are the stream, byte for byte.
func TestPagesReassemble(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	random := make([]byte, 70_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for name, test := range map[string]struct {
		data  []byte
		limit int
		raw   bool
	}{
		"text":             {[]byte(strings.Repeat("naïve 漢字 😀\r\x1b[31m", 999)), 7, false},
		"text, raw":        {[]byte(strings.Repeat("naïve 漢字 😀\n", 99)), 5, true},
		"binary":           {random, 4096, true},
		"NUL":              {[]byte("a\x00b<>&\u2028\"\\"), 2, false},
		"one long line":    {bytes.Repeat([]byte("x"), 250_000), 100_000, false},
		"a half character": {[]byte("ok\xe6\xbc"), 3, true},
		"nothing":          {nil, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			id := f.add(me, "cat")
			f.change(id, func(r *fakeRun) { r.stdout = test.data; r.exit(0) })
			var got []byte
			for offset, eof := int64(0), false; !eof; {
				page := ok[answer.Page](c, "command_output", taskArgs(id, fmt.Sprintf(`,"offset":%d,"limit":%d,"raw":%t`, offset, test.limit, test.raw)))
				b := []byte(page.Content)
				if page.Encoding == "base64" {
					var err error
					if b, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
						t.Fatal(err)
					}
				}
				kept := ok[answer.Artifact](c, "retrieve_context", strings.Replace(taskArgs(id, fmt.Sprintf(`,"offset":%d,"limit":%d,"raw":%t`, offset, test.limit, test.raw)), "taskId", "artifactId", 1))
				if kept.Content != page.Content || kept.NextOffset != page.NextOffset || kept.EOF != page.EOF || kept.ArtifactID != id || kept.TotalSize != page.TotalSize {
					t.Fatalf("the artifact's page at %d: %+v", offset, kept)
				}
				if page.Offset != offset || page.NextOffset != offset+int64(len(b)) || page.TotalSize != int64(len(test.data)) || page.HasMore == page.EOF {
					t.Fatalf("page at %d: %+v", offset, page)
				}
				got, offset, eof = append(got, b...), page.NextOffset, page.EOF
			}
			if !bytes.Equal(test.data, got) {
				t.Errorf("%d bytes came back as %d others", len(test.data), len(got))
			}
		})
	}
}

func TestCombinedHasEntries(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	id := f.add(me, "cat")
	f.change(id, func(r *fakeRun) { r.stdout = []byte("x\n") })
	got := ok[answer.Page](c, "command_output", taskArgs(id, `,"stream":"combined","grep":"x"`))
	if len(got.Entries) != 1 || got.Entries[0].Text != "x\n" || got.Matches == nil || got.EOF {
		t.Errorf("got %+v", got)
	}
}

func TestUnknownAndForeignLookAlike(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	foreign := f.add(stranger, "secret")
	unknown, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"command_status", "command_output", "command_kill", "retrieve_context"} {
		var texts []string
		for _, id := range []paddock.RunID{foreign, unknown, "rubbish"} {
			args := taskArgs(id, "")
			if tool == "retrieve_context" {
				args = strings.Replace(args, "taskId", "artifactId", 1)
			}
			got := no(c, tool, args)
			if got.Code != paddock.NotFound || got.Hint == "" {
				t.Errorf("%s %s: %+v", tool, id, got)
			}
			texts = append(texts, strings.ReplaceAll(fmt.Sprint(got), string(id), "ID"))
		}
		if texts[0] != texts[1] || texts[1] != texts[2] {
			t.Errorf("%s tells ids apart: %q", tool, texts)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs[0].State.Settled() {
		t.Error("another's run was killed")
	}
}

// Every code reaches a client whole, and in words.
func TestRefusalsArrive(t *testing.T) {
	t.Parallel()
	var refuse *paddock.Refusal
	f := &fake{before: func(verb string) error {
		if verb == "start" {
			return refuse
		}
		return nil
	}}
	c := connect(t, Config{App: f})
	_, out := schemas(t, c)
	for _, info := range paddock.Codes() {
		refuse = paddock.Refused(info.Code, "this is refused: %s", info.Code)
		refuse.Rule = "no-forbidden"
		refuse.Position = &paddock.Position{File: "/etc/paddock/policy.yaml", Line: 14, Column: 3}
		refuse.Suggestion = &paddock.Suggestion{Argvs: [][]string{{"go", "vet"}, {"echo", "a b"}}, Note: "two commands"}
		refuse.Others = []paddock.Refusal{*paddock.Refused(paddock.CwdMissing, "no such directory")}
		r := c.call("run_command_bg", `{"argv":["x"]}`)
		got := parse[answer.Refusal](t, r.Structured)
		want := answer.Refusal{
			Code: info.Code, Message: "this is refused: " + string(info.Code), Hint: info.Hint, Rule: "no-forbidden", Gate: info.Gate,
			Position: &answer.Position{File: "policy.yaml", Line: 14, Column: 3}, Suggestion: &answer.Suggestion{Argvs: refuse.Suggestion.Argvs, Note: "two commands"}, Retryable: info.Retryable,
			Others: []answer.Other{{Code: paddock.CwdMissing, Message: "no such directory", Hint: paddock.CwdMissing.Info().Hint}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", info.Code, diff)
		}
		for _, part := range []string{string(info.Code), want.Message, info.Hint, `["go","vet"]`, `["echo","a b"]`, "two commands", "no-forbidden", "policy.yaml:14:3", "cwd_missing"} {
			if !strings.Contains(r.Content[0].Text, part) {
				t.Errorf("%s: the words lack %q:\n%s", info.Code, part, r.Content[0].Text)
			}
		}
		if !r.IsError {
			t.Errorf("%s isn't an error", info.Code)
		}
		for name, schema := range out {
			if err := validate(schema, r.Structured); err != nil {
				t.Errorf("%s: not what %s's schema promises: %v", info.Code, name, err)
			}
		}
	}
}

func TestFaultsKeepSecrets(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{
		"error": func() error { return fmt.Errorf("reading /home/x/.token: %w", errors.New("password hunter2")) },
		"panic": func() error { panic("password hunter2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c *client
			f := &fake{before: func(verb string) error {
				if verb == "status" {
					return fault()
				}
				return nil
			}}
			c = connect(t, Config{App: f})
			id := f.add(me, "x")
			r := c.call("command_status", taskArgs(id, ""))
			got := parse[answer.Refusal](t, r.Structured)
			if !r.IsError || got.Code != answer.Internal || strings.Contains(string(r.Structured)+r.Content[0].Text, "hunter2") {
				t.Errorf("got %s", r.Structured)
			}
			if !strings.Contains(c.log.String(), "hunter2") {
				t.Errorf("the log lacks the cause: %s", c.log)
			}
			ok[answer.Listing](c, "command_list", `{}`)
		})
	}
}

// What is only told beside a result doesn't take the result away.
func TestFaultsBesideAResult(t *testing.T) {
	t.Parallel()
	f := &fake{before: func(verb string) error {
		if verb == "counters" || verb == "output" {
			return errors.New("disk")
		}
		return nil
	}}
	c := connect(t, Config{App: f})
	got := ok[answer.Started](c, "run_command_bg", `{"argv":["x"]}`)
	if got.TaskID == "" || got.Running != nil {
		t.Errorf("got %+v", got)
	}
	f.change(got.TaskID, func(r *fakeRun) { r.stdout = []byte("x") })
	if s := ok[answer.Status](c, "command_status", taskArgs(got.TaskID, "")); !strings.Contains(s.TailPreview, "can't be read") {
		t.Errorf("preview: %q", s.TailPreview)
	}
	if r := no(c, "command_output", taskArgs(got.TaskID, "")); r.Code != answer.Internal {
		t.Errorf("output: %+v", r)
	}
	if !strings.Contains(c.log.String(), "disk") {
		t.Error("the log lacks the cause")
	}
}

func TestPolicyProblem(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	problem := paddock.Refused(paddock.PolicyInvalid, "policy.yaml:3:1: unknown key")
	f := &fake{}
	c := connect(t, Config{App: f, PolicyProblem: func() *paddock.Refusal { mu.Lock(); defer mu.Unlock(); return problem }})
	id := f.add(me, "x")
	for tool, args := range map[string]string{
		"run_command_bg": `{"argv":["x"]}`, "command_status": taskArgs(id, ""), "command_output": taskArgs(id, ""),
		"command_kill": taskArgs(id, ""), "command_list": `{}`, "retrieve_context": `{"artifactId":"` + someID + `"}`,
	} {
		if got := no(c, tool, args); got.Code != paddock.PolicyInvalid || got.Message != problem.Message || got.Hint == "" {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	if len(f.asked)+len(f.killed) != 0 {
		t.Error("something was done")
	}
	mu.Lock()
	problem = nil
	mu.Unlock()
	ok[answer.Listing](c, "command_list", `{}`)
}

func TestNoAppNeedsAReason(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no app":           {Principal: me},
		"no principal":     {App: &fake{}},
		"principal no id":  {App: &fake{}, Principal: paddock.Principal{Kind: paddock.Agent}},
		"odd onDisconnect": {App: &fake{}, Principal: me, OnDisconnect: "maybe"},
	} {
		if _, err := newSession(t.Context(), cfg); err == nil {
			t.Errorf("%s: served", name)
		}
	}
	c := connect(t, Config{PolicyProblem: func() *paddock.Refusal { return paddock.Refused(paddock.NoPolicy, "none") }})
	if got := no(c, "run_command_bg", `{"argv":["x"]}`); got.Code != paddock.NoPolicy {
		t.Errorf("got %+v", got)
	}
}

// Every result is what its schema promises and says the same as text.
func TestResultsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	_, out := schemas(t, c)
	running, settled := f.add(me, "a"), f.add(me, "b")
	f.change(settled, func(r *fakeRun) {
		r.stdout, r.stderr = []byte("<out>"), []byte{0xff}
		r.settle(paddock.OutputLimit, paddock.Reason{Kind: paddock.ReasonOutputLimit, Stream: paddock.Stdout, Limit: 5, Signal: "SIGTERM"})
		r.Outcome.Stdout.Dropped = 3
	})
	for _, test := range [][2]string{
		{"run_command_bg", `{"argv":["x","y"]}`},
		{"command_status", taskArgs(running, "")},
		{"command_status", taskArgs(settled, `,"waitMs":99999`)},
		{"command_output", taskArgs(settled, `,"raw":true,"stream":"stderr"`)},
		{"command_output", taskArgs(settled, `,"stream":"combined","grep":"o"`)},
		{"retrieve_context", `{"artifactId":"` + string(settled) + `","stream":"combined"}`},
		{"retrieve_context", `{"artifactId":"` + string(running) + `"}`},
		{"command_kill", taskArgs(settled, "")},
		{"command_list", `{"limit":1}`},
		{"command_list", `{}`},
	} {
		r := c.call(test[0], test[1])
		if err := validate(out[test[0]], r.Structured); err != nil || r.IsError {
			t.Errorf("%s %s: %v\n%s", test[0], test[1], err, r.Structured)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(r.Structured, &a), json.Unmarshal([]byte(r.Content[0].Text), &b)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: text differs from structure:\n%s", test[0], diff)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			run := ok[answer.Started](c, "run_command_bg", fmt.Sprintf(`{"argv":["job","%d"]}`, i))
			want := fmt.Sprintf("output of %d\n", i)
			waited := make(chan answer.Status)
			go func() { waited <- ok[answer.Status](c, "command_status", taskArgs(run.TaskID, `,"waitMs":45000`)) }()
			f.change(run.TaskID, func(r *fakeRun) { r.stdout = []byte(want); r.exit(i) })
			if s := <-waited; *s.ExitCode != i || s.TailPreview != want {
				t.Errorf("%d: %+v", i, s)
			}
			if p := ok[answer.Page](c, "command_output", taskArgs(run.TaskID, "")); p.Content != want || !p.EOF {
				t.Errorf("%d: %+v", i, p)
			}
		})
	}
	all.Wait()
	if got := ok[answer.Listing](c, "command_list", `{"limit":200}`); len(got.Tasks) != 50 || *got.Running != 0 || *got.Finished != 0 {
		t.Errorf("afterwards: %d tasks, %+v", len(got.Tasks), got.Counters)
	}
}

// That the policy in force isn't the one in its file is beside every result, for as
// long as it is so.
func TestPolicyNotice(t *testing.T) {
	t.Parallel()
	var said atomic.Pointer[string]
	c := connect(t, Config{App: &fake{}, PolicyNotice: func() string {
		if text := said.Load(); text != nil {
			return *text
		}
		return ""
	}})
	run := ok[answer.Started](c, "run_command_bg", `{"argv":["go"]}`)
	if run.PolicyNotice != "" {
		t.Errorf("it says %q", run.PolicyNotice)
	}
	broken := "The policy file was changed and is broken; the previous one is in force."
	said.Store(&broken)
	got := []string{
		ok[answer.Started](c, "run_command_bg", `{"argv":["go"]}`).PolicyNotice,
		ok[answer.Status](c, "command_status", fmt.Sprintf(`{"taskId":%q}`, run.TaskID)).PolicyNotice,
		ok[answer.Page](c, "command_output", fmt.Sprintf(`{"taskId":%q}`, run.TaskID)).PolicyNotice,
		ok[answer.Listing](c, "command_list", `{}`).PolicyNotice,
		ok[answer.Status](c, "command_kill", fmt.Sprintf(`{"taskId":%q}`, run.TaskID)).PolicyNotice,
	}
	for i, text := range got {
		if text != broken {
			t.Errorf("result %d says %q", i, text)
		}
	}
}
