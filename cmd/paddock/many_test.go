//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// An asker is a client of one server, which it asks one thing after the other.
type asker struct {
	t   *testing.T
	cmd *testproc.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func (y *yard) asker() *asker {
	y.t.Helper()
	a := &asker{t: y.t, cmd: y.command("mcp")}
	a.cmd.Stderr = os.Stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		y.t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		a.out = bufio.NewReader(out)
		err = a.cmd.Start()
	}
	if err != nil {
		y.t.Fatal(err)
	}
	a.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "many", "version": "1"}}, nil)
	a.tell(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return a
}

func (a *asker) tell(message any) {
	a.t.Helper()
	line, err := json.Marshal(message)
	if err == nil {
		_, err = a.in.Write(append(line, '\n'))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// ask sends a request and reads its result.
func (a *asker) ask(method string, params map[string]any, result any) {
	a.t.Helper()
	a.id++
	a.tell(map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			a.t.Fatal(err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			a.t.Fatal(err)
		}
		if answer.ID != a.id {
			continue
		}
		if answer.Result == nil {
			a.t.Fatalf("%s: %s", method, line)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				a.t.Fatal(err)
			}
		}
		return
	}
}

func (a *asker) call(tool string, args map[string]any, structured any) {
	a.t.Helper()
	var result struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	a.ask("tools/call", map[string]any{"name": tool, "arguments": args}, &result)
	if result.IsError {
		a.t.Fatalf("%s: %s", tool, result.Structured)
	}
	if err := json.Unmarshal(result.Structured, structured); err != nil {
		a.t.Fatal(err)
	}
}

// runs has so many commands run, and reads status and output of each.
func (a *asker) runs(n int) (last string) {
	a.t.Helper()
	for i := range n {
		var task struct {
			TaskID  string `json:"taskId"`
			State   string `json:"state"`
			Content string `json:"content"`
		}
		word := fmt.Sprint("word-", i)
		a.call("run_command_bg", map[string]any{"argv": []string{"prog", "say", word}}, &task)
		last = task.TaskID
		for task.State = ""; task.State != "exited"; {
			a.call("command_status", map[string]any{"taskId": last, "waitMs": 20_000}, &task)
		}
		a.call("command_output", map[string]any{"taskId": last}, &task)
		if task.Content != word+"\n" {
			a.t.Fatalf("run %d printed %q", i, task.Content)
		}
	}
	return last
}

// memory is what the server has of it, in KiB.
func (a *asker) memory() int {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

// However many runs there are on one state directory, a server's memory stays what
// it was, and so does the time that ps, status, output and a tool take.
func TestManyRunsByOneServer(t *testing.T) {
	first, many, most := 20, 40, 96<<10 // what a race detector needs is ours to allow
	long := os.Getenv("PADDOCK_LONG") != ""
	if long {
		first, many, most = 500, 10_000, 24<<10
	}
	y := newYard(t)
	a := y.asker()
	looking := func(last string) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			y.output("ps", "--all", "--limit", "20")
			y.output("status", last)
			y.output("output", last)
			var list struct {
				Tasks []any `json:"tasks"`
			}
			a.call("command_list", map[string]any{}, &list)
			best = min(best, time.Since(start))
		}
		return best
	}
	quick := looking(a.runs(first))
	before := a.memory()
	slow := looking(a.runs(many))
	after := a.memory()
	t.Logf("%d runs: %d KiB, %s; %d more: %d KiB, %s", first, before, quick, many, after, slow)
	// Of so few runs a time says more of what else the machine does.
	if long && slow > 10*quick+500*time.Millisecond {
		t.Errorf("looking took %s, and takes %s after %d more runs", quick, slow, many)
	}
	if after-before > most {
		t.Errorf("the server grew from %d to %d KiB over %d runs", before, after, many)
	}
	if err := errors.Join(a.in.Close(), a.cmd.Wait()); err != nil {
		t.Error(err)
	}
}
