package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
)

// Texts for models. Clients cut long ones, so the bounds are tested.
const (
	instructions = `Paddock runs programs under the operator's policy and keeps every byte they print.
Start with run_command_bg, poll with command_status (waitMs up to 45000), read with command_output, end with command_kill, and find lost tasks with command_list.
There is no shell: argv is an array, one entry per word. A refusal has a code and says what to do instead; asking again unchanged only helps when retryable is true.`

	aboutStart = `Start one program in the background; returns its taskId at once.
argv is an array, one entry per word: ["go","test","./..."]. There is no shell: no pipes, &&, redirection, globs, variables or quoting. Run the parts of a pipeline one after another; stdin can be the output of an earlier task.
The operator's policy decides. A refusal carries a code, the reason and what to do instead.
The task lives on if this call is cut off: ask again with the same idempotencyKey, or use command_list. A nonzero exit is a result, not an error.`

	aboutStatus = `State of a task: exit code, why it ended, bytes printed, digests and the last lines of output.
With waitMs it returns when the task has ended or that time is over. At most 45000 are waited per call: repeat until settled is true; nothing is lost in between or when a call is cut off.`

	aboutOutput = `Read what a task printed, exactly, also while it runs.
Start at offset 0 and go on at nextOffset until eof is true; the pages joined are the whole stream. Offsets are bytes; a page of text never splits a character. hasMore false with eof false: more may come, use waitMs (at most 45000).
Instead of offset: tail (the last N lines) or line (from line N). grep keeps matching lines, and lines says where they are. view clean leaves out colours, progress bars and hidden characters. raw gives exact bytes where output isn't UTF-8, as base64.`

	aboutKill = `End a task and every process it started: the signal (TERM unless said otherwise), then KILL after 5 seconds. Returns its status. What was printed stays readable. A task that has ended comes back unchanged.`

	aboutList = `Your tasks, newest first, also of earlier sessions: use it when you have lost a taskId. Go on with before set to next.`
)

// A tool is one entry of the table: what clients are told and what is done.
type tool struct {
	*mcp.Tool
	handler mcp.ToolHandler
}

// tools is the table of every tool.
func (s *session) tools() []tool {
	yes, no := true, false
	return []tool{
		newTool(s, mcp.Tool{
			Name: "run_command_bg", Title: "Run a command in the background", Description: aboutStart + permitted(s.Words()),
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		}, (*session).start),
		newTool(s, mcp.Tool{
			Name: "command_status", Title: "Status of a command", Description: aboutStatus,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).status),
		newTool(s, mcp.Tool{
			Name: "command_output", Title: "Output of a command", Description: aboutOutput,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).output),
		newTool(s, mcp.Tool{
			Name: "command_kill", Title: "End a command", Description: aboutKill,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).kill),
		newTool(s, mcp.Tool{
			Name: "command_list", Title: "List commands", Description: aboutList,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).list),
	}
}

// permitted says which words argv[0] may be, within 600 bytes.
func permitted(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nargv[0] may be: ")
	for i, w := range words {
		if b.Len()+len(w) > 560 {
			fmt.Fprintf(&b, " and %d more", len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w)
	}
	return b.String()
}

// A call is one tool call under way.
type call struct{ req *mcp.CallToolRequest }

// newTool makes a table entry of a typed function. What the function returns as
// an error becomes a tool error; nothing that it does ends the connection.
func newTool[In ask.Input, Out any](s *session, t mcp.Tool, fn func(*session, context.Context, call, In) (Out, error)) tool {
	t.InputSchema, t.OutputSchema = inputSchema[In](), outputSchema[Out]()
	handler := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case s.calls <- struct{}{}:
			defer func() { <-s.calls }()
		default:
			return answer.Refused(busy()), nil
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		out, err := guarded(func() (any, error) {
			if s.PolicyProblem != nil {
				if r := s.PolicyProblem(); r != nil {
					return nil, r
				}
			}
			in, err := ask.Decode[In](req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return fn(s, ctx, call{req}, in)
		})
		if err != nil {
			return s.failed(ctx, t.Name, err), nil
		}
		return answer.Succeeded(out)
	}
	return tool{&t, handler}
}

func busy() *paddock.Refusal {
	r := paddock.Refused(paddock.Busy, "%d calls are already under way on this connection", maxCalls)
	r.Hint = "Wait for one to return, then ask again."
	return r
}

// guarded calls fn and makes a fault of a panic: one bad call must not take the
// other calls of a connection along.
func guarded(fn func() (any, error)) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", paddock.ErrFault, r, debug.Stack())
		}
	}()
	return fn()
}

// failed answers with what a caller may know of err; the rest goes to the log.
func (s *session) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	var refusal *paddock.Refusal
	switch {
	case errors.As(err, &refusal):
		return answer.Refused(refusal)
	case ctx.Err() != nil:
		return answer.Refused(&paddock.Refusal{
			Code: answer.Canceled, Message: "the call was canceled; what it asked about goes on", Retryable: true,
			Hint: "Ask again; command_list finds tasks whose id was lost.",
		})
	}
	s.Log.Error("a tool call failed", "tool", tool, "err", err)
	return answer.Refused(&paddock.Refusal{
		Code: answer.Internal, Message: "Paddock failed to do this by a fault of its own or of this machine; nothing is wrong with the request",
		Hint: "Ask again once. If it stays, the operator finds the cause in the server's log.", Retryable: true,
	})
}
