//go:build linux

package chaos_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"paddock/internal/testproc"
)

// mostSessions is how many sessions of a reader may be ended before it gets one of
// what doesn't fail: a plan holds for every process of its binary.
const mostSessions = 5

// A session is a server for tools of our own, which can be gone at any moment.
type session struct {
	s    *shot
	cmd  *testproc.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	id   int
}

// heard is what a reader by tools was told of a run.
type heard struct {
	run    string
	stdout []byte
}

// open starts one, and shakes hands; nil when it is gone already.
func (s *shot) open(cmd *testproc.Cmd) *session {
	c := &session{s: s, cmd: cmd}
	cmd.Stderr = &c.errs
	var err error
	c.in, err = cmd.StdinPipe()
	must2(s, err)
	out, err := cmd.StdoutPipe()
	must2(s, err)
	c.out = bufio.NewReader(out)
	must2(s, cmd.Start())
	_, there := c.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "chaos", "version": "1"}})
	if there {
		there = c.say(map[string]any{"method": "notifications/initialized"})
	}
	if !there {
		c.close()
		return nil
	}
	return c
}

func (c *session) say(message map[string]any) (there bool) {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	must2(c.s, err)
	_, err = c.in.Write(append(line, '\n'))
	return err == nil
}

// An answer is a result, as far as we look at it.
type answer struct {
	ID     int `json:"id"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured struct {
			TaskID  string `json:"taskId"`
			Content string `json:"content"`
			Next    int64  `json:"nextOffset"`
			EOF     bool   `json:"eof"`
		} `json:"structuredContent"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// ask waits for the answer; there is false when the server is gone.
func (c *session) ask(method string, params map[string]any) (a answer, there bool) {
	c.id++
	if !c.say(map[string]any{"id": c.id, "method": method, "params": params}) {
		return a, false
	}
	for a.ID != c.id {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return a, false
		}
		a = answer{}
		must2(c.s, json.Unmarshal(line, &a))
	}
	return a, true
}

func (c *session) call(tool string, args map[string]any) (a answer, there bool) {
	return c.ask("tools/call", map[string]any{"name": tool, "arguments": args})
}

// close ends it as clients do, if it is there.
func (c *session) close() {
	_ = c.in.Close() // it may be gone
	_, _ = io.Copy(io.Discard, c.out)
	if err := c.cmd.Wait(); err != nil {
		c.s.says(fmt.Sprint(err, " ", own(c.errs.String())))
	}
}

func (s *shot) says(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, what)
}

// askTools asks for a run by a tool, and reads what it prints.
func (s *shot) askTools() {
	args := []string{"mcp", "--state", s.f.state, "--policy", s.f.policies[s.level]}
	c := s.open(s.command(args...))
	if c == nil {
		return
	}
	call := map[string]any{"argv": []string{"sh", "-c", s.script()}, "timeoutMs": s.limit.Milliseconds()}
	if s.key != "" {
		call["idempotencyKey"] = s.key
	}
	a, there := c.call("run_command_bg", call)
	id := a.Result.Structured.TaskID
	if id == "" {
		c.close()
		if there {
			s.says(fmt.Sprintf("the server answered %.400v, %s", a.Result.Content, a.Error))
		}
		return
	}
	s.mu.Lock()
	s.accepted = append(s.accepted, id)
	s.mu.Unlock()
	h := heard{run: id}
	for n := 1; !c.read(&h); n++ { // the server is gone: by another, from where this one was
		for c = nil; c == nil; n++ {
			cmd := s.command(args...)
			if n > mostSessions {
				cmd = s.f.paddock(args...)
			}
			c = s.open(cmd)
		}
	}
	c.close()
	s.mu.Lock()
	s.heard = append(s.heard, h)
	s.mu.Unlock()
}

// read goes on to the end of the output; false when the server is gone before.
func (c *session) read(h *heard) (all bool) {
	for {
		a, there := c.call("command_output", map[string]any{"taskId": h.run, "offset": len(h.stdout), "waitMs": 45000})
		if !there {
			c.close()
			return false
		}
		page := a.Result.Structured
		if a.Result.IsError && c.s.plan != "" { // its disk fails; another's may not
			c.close()
			return false
		}
		h.stdout = append(h.stdout, page.Content...)
		if a.Error != nil || a.Result.IsError || page.Next != int64(len(h.stdout)) {
			c.s.f.t.Errorf("reading on from %d by a tool: %+v\n%v", len(h.stdout), a, c.s)
			return true
		}
		if page.EOF {
			return true
		}
	}
}
