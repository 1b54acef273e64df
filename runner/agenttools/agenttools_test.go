//go:build linux

package agenttools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
	"paddock/runner"
	"paddock/runner/agenttools"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// calls are what an agent says over its door: it lists its tools, runs a command that
// the policy allows, and one that it doesn't.
const calls = `exec 4<&3
say() { printf '%s\n' "$1" >&3; read -r line <&4; printf '%s\n' "$line"; }
say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' > /dev/null
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
say '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
say '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["echo","hello"]}}}'
say '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["rm","-rf","/"]}}}'
say '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"git_log","arguments":{}}}'
`

func open(t *testing.T, change ...func(*runner.Options)) *runner.Runner {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "desk"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %s/desk}]\nexecutables: [{name: echo, path: /bin/echo, args: any}]\ncontainment: {require: off}\nlaunch: {agents: true}\n"+
		"delegates: {providers: {worker: {path: /bin/sh, tools: [run_command_bg, command_list]}}}\n", dir)
	opt := runner.Options{
		StateDir: filepath.Join(dir, "state"), PolicyText: []byte(text), Principal: "host", ServeTools: agenttools.Serve,
		Stage: testproc.Build(t, "paddock/cmd/paddock-stage"), Warn: func(err error) { t.Log(err) },
	}
	for _, c := range change {
		c(&opt)
	}
	r, err := runner.Open(t.Context(), "policy.yaml", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := testproc.Unlocked(filepath.Join(dir, "state/runs/*/*/lock")); err != nil {
			t.Error(err)
		}
	})
	return r
}

func result(t *testing.T, r *runner.Runner, id string) *runner.DelegateResult {
	t.Helper()
	for range 4 {
		got, err := r.CollectDelegates(t.Context(), runner.Collect{ID: id, Wait: paddock.MaxWait})
		if err != nil {
			t.Fatal(err)
		}
		if !got.TimedOut {
			return got.Completed[0].Result
		}
	}
	t.Fatal("it doesn't come to an end")
	return nil
}

// A delegate has the tools that its provider lists and no others; what it asks for is
// judged, is its own, and the host's hook is asked about it.
func TestServe(t *testing.T) {
	t.Parallel()
	asked := make(chan paddock.Principal, 16)
	r := open(t, func(o *runner.Options) { o.Hook = hook(asked) })
	d, err := r.Delegate(t.Context(), runner.DelegateTask{Task: calls})
	if err != nil {
		t.Fatal(err)
	}
	got := result(t, r, d.ID)
	page, err := r.ReadArtifact(t.Context(), got.Artifact, runner.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(page.Content), "\n")
	if got.Status != "completed" || len(lines) != 4 {
		t.Fatalf("%+v\n%s", got, page.Content)
	}
	for i, c := range []struct{ has, hasnt string }{
		{`"run_command_bg"`, `"command_kill"`}, {`"argv":["echo","hello"]`, `isError":true`}, {`executable_not_allowed`, "taskId"}, {`git_log`, "commits"},
	} {
		if !strings.Contains(lines[i], c.has) || strings.Contains(lines[i], c.hasnt) {
			t.Errorf("line %d lacks %s or has %s:\n%s", i, c.has, c.hasnt, lines[i])
		}
	}
	close(asked)
	mine := 0
	for p := range asked {
		if p == d.Session() {
			mine++
		}
	}
	if mine != 1 {
		t.Errorf("the hook was asked %d times for the delegate", mine)
	}
}

func hook(asked chan<- paddock.Principal) func(context.Context, runner.HookRequest) error {
	return func(_ context.Context, req runner.HookRequest) error {
		asked <- req.Request.Principal
		return nil
	}
}

// Who serves is gone: the delegate ends with it, and nothing of it is left.
func TestClosingEndsIt(t *testing.T) {
	t.Parallel()
	r := open(t)
	d, err := r.Delegate(t.Context(), runner.DelegateTask{Task: "read -r line <&3; echo over"})
	if err != nil || d.State != "running" {
		t.Fatalf("%+v, %v", d, err)
	}
}
