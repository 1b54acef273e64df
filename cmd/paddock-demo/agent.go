package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An agent is what talks to Paddock over MCP. It knows what any client knows.
type agent struct {
	stage   *stage
	session *mcp.ClientSession
	tests   status // of the tests that it ran
}

// A status is what command_status says, as far as the story needs it.
type status struct {
	TaskID       string `json:"taskId"`
	State        string `json:"state"`
	Settled      bool   `json:"settled"`
	ExitCode     *int   `json:"exitCode"`
	Error        string `json:"error"`
	DurationMs   int64  `json:"durationMs"`
	StdoutBytes  int64  `json:"stdoutBytes"`
	StdoutDigest string `json:"stdoutDigest"`
	TailPreview  string `json:"tailPreview"`
}

type object = map[string]any

// connect starts paddock mcp, as Claude Code, Codex or an editor would.
func (s *stage) connect(ctx context.Context) (*agent, error) {
	title(2, "An agent connects to  paddock mcp  over MCP")
	// Not bound to ctx: when the story is broken off, closing the session lets
	// the server end its runs first.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.paddock, "mcp", "--on-disconnect", "kill")
	cmd.Dir, cmd.Env, cmd.Stderr = s.project, s.env, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "paddock-demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 15 * time.Second}, nil)
	if err != nil {
		return nil, err
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	names := make([]string, len(tools.Tools))
	for i, tool := range tools.Tools {
		names[i] = tool.Name
	}
	tell("It finds " + strings.Join(names, ", ") + ".")
	return &agent{stage: s, session: session}, nil
}

func (a *agent) leave() error { return a.session.Close() }

// call calls a tool and reads its structured content into out. A tool error is
// returned as the text that a model sees.
func (a *agent) call(ctx context.Context, tool string, args object, out any) (refused string, err error) {
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	if result.IsError {
		for _, c := range result.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				refused += text.Text
			}
		}
		return refused, nil
	}
	body, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return "", err
	}
	return "", json.Unmarshal(body, out)
}

// must is call for what this policy allows.
func (a *agent) must(ctx context.Context, tool string, args object, out any) error {
	refused, err := a.call(ctx, tool, args, out)
	if refused != "" {
		err = fmt.Errorf("%s: %s", tool, refused)
	}
	return err
}

func (a *agent) asksForShell(ctx context.Context) error {
	title(3, `It asks for a shell line:  argv ["go vet ./... && echo done"]`)
	var s status
	refused, err := a.call(ctx, "run_command_bg", object{"argv": []string{"go vet ./... && echo done"}}, &s)
	if err != nil {
		return err
	}
	if refused == "" {
		return errors.New("a shell line was not refused")
	}
	tell(refused)
	return nil
}

// start runs a command in the background.
func (a *agent) start(ctx context.Context, argv ...string) (status, error) {
	var s status
	err := a.must(ctx, "run_command_bg", object{"argv": argv}, &s)
	return s, err
}

// await polls until the task has ended, as often as it takes.
func (a *agent) await(ctx context.Context, id string) (status, error) {
	for {
		var s status
		if err := a.must(ctx, "command_status", object{"taskId": id, "waitMs": 10_000}, &s); err != nil || s.Settled {
			return s, err
		}
		tell(fmt.Sprintf("… still %s after %.0f s", s.State, float64(s.DurationMs)/1000))
	}
}

func (a *agent) works(ctx context.Context) error {
	title(4, "It puts that right and works: both in the background, polled")
	vet, err := a.start(ctx, "go", "vet", "./internal/policy/...")
	if err != nil {
		return err
	}
	test, err := a.start(ctx, "go", "test", "./internal/policy/...")
	if err != nil {
		return err
	}
	for _, task := range []struct{ what, id string }{{"go vet ./internal/policy/...", vet.TaskID}, {"go test ./internal/policy/...", test.TaskID}} {
		s, err := a.await(ctx, task.id)
		if err != nil {
			return err
		}
		if s.ExitCode == nil || *s.ExitCode != 0 {
			return fmt.Errorf("%s ended otherwise than it should: %s %s\n%s", task.what, s.State, s.Error, s.TailPreview)
		}
		tell(fmt.Sprintf("%-30s %s %d after %.1f s", task.what, s.State, *s.ExitCode, float64(s.DurationMs)/1000))
		a.tests = s
	}
	held, err := a.stage.held(ctx, a.tests.TaskID)
	if err != nil {
		return err
	}
	tell("Your  paddock show --json  says what held the tests: " + held + ".")
	return nil
}

// readsBack reads the tests' output in small pages and holds it against the
// digest that was recorded when the run ended.
func (a *agent) readsBack(ctx context.Context) error {
	sum, offset, pages := sha256.New(), int64(0), 0
	for eof := false; !eof; pages++ {
		var page struct {
			Content    string `json:"content"`
			Encoding   string `json:"encoding"`
			NextOffset int64  `json:"nextOffset"`
			EOF        bool   `json:"eof"`
		}
		if err := a.must(ctx, "command_output", object{"taskId": a.tests.TaskID, "offset": offset, "limit": 200, "raw": true}, &page); err != nil {
			return err
		}
		data := []byte(page.Content)
		if page.Encoding == "base64" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
				return err
			}
		}
		sum.Write(data)
		if page.NextOffset <= offset && !page.EOF {
			return fmt.Errorf("the page at %d leads nowhere", offset)
		}
		offset, eof = page.NextOffset, page.EOF
	}
	got := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	if got != a.tests.StdoutDigest || offset != a.tests.StdoutBytes {
		return fmt.Errorf("read %d bytes of %s, but the record says %d of %s", offset, got, a.tests.StdoutBytes, a.tests.StdoutDigest)
	}
	tell(fmt.Sprintf("It reads the tests' output back: %d bytes in %d small pages. Joined, their digest\n%s… is the one in the record: the evidence is whole.", offset, pages, got[:26]))
	return nil
}

// ends kills a program that ignores SIGTERM, while the operator watches from
// another process.
func (a *agent) ends(ctx context.Context) error {
	title(5, "It starts a program that ignores SIGTERM, and has to end it")
	s, err := a.start(ctx, stubborn, stubborn)
	if err != nil {
		return err
	}
	var page struct {
		Content string `json:"content"`
	}
	if err := a.must(ctx, "command_output", object{"taskId": s.TaskID, "waitMs": 30_000}, &page); err != nil {
		return err
	}
	tell("It says: " + strings.TrimSpace(page.Content))
	table, err := a.stage.run(ctx, "ps")
	if err != nil {
		return err
	}
	tell("Your  paddock ps  in another process sees it:")
	for line := range strings.Lines(table) {
		fmt.Print("   | ", line)
	}
	fmt.Println()
	began := time.Now()
	if err := a.must(ctx, "command_kill", object{"taskId": s.TaskID, "reason": "it hangs"}, &s); err != nil {
		return err
	}
	if !s.Settled {
		if s, err = a.await(ctx, s.TaskID); err != nil {
			return err
		}
	}
	tell(fmt.Sprintf("command_kill asks, waits five seconds, then kills the whole tree: %s after %.1f s.\n%s", s.State, time.Since(began).Seconds(), s.Error))
	return nil
}
