package mcpserver

import (
	"context"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
	"paddock/internal/mcpserver/person"
	"paddock/internal/mcpserver/schema"
	"paddock/internal/mcpserver/texts"
)

// A tool is one entry of the table: what clients are told and what is done.
type tool struct {
	*mcp.Tool
	handler mcp.ToolHandler
}

// tools is the table of every tool.
func (s *session) tools() []tool {
	yes, no := true, false
	start := newTool(s, mcp.Tool{
		Name: "run_command_bg", Title: "Run a command in the background", Description: texts.Start + texts.Permitted(s.Words()),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
	}, (*session).start)
	if s.Workspace == nil {
		start.InputSchema = schema.Once[ask.Start]("outside", func() *jsonschema.Schema { return schema.Without(schema.Input[ask.Start](), "workspace") })
	}
	return []tool{
		start,
		newTool(s, mcp.Tool{
			Name: "command_status", Title: "Status of a command", Description: texts.Status,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).status),
		newTool(s, mcp.Tool{
			Name: "command_output", Title: "Output of a command", Description: texts.Output,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).output),
		newTool(s, mcp.Tool{
			Name: "command_kill", Title: "End a command", Description: texts.Kill,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).kill),
		newTool(s, mcp.Tool{
			Name: "command_list", Title: "List commands", Description: texts.List,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).list),
		newTool(s, mcp.Tool{
			Name: "retrieve_context", Title: "Read what is kept", Description: texts.Retrieve,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).retrieve),
	}
}

// A call is one tool call under way.
type call struct{ req *mcp.CallToolRequest }

// newTool makes a table entry of a typed function. What the function returns as
// an error becomes a tool error; nothing that it does ends the connection.
func newTool[In ask.Input, Out any](s *session, t mcp.Tool, fn func(*session, context.Context, call, In) (Out, error)) tool {
	t.InputSchema, t.OutputSchema = schema.Input[In](), schema.Output[Out, answer.Refusal]()
	handler := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case s.calls <- struct{}{}:
			defer func() { <-s.calls }()
		default:
			return answer.Refused(answer.Full(maxCalls)), nil
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		out, err := answer.Guarded(func() (any, error) {
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

// failed answers with what a caller may know of err; the rest goes to the log.
func (s *session) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	var refusal *paddock.Refusal
	var needed *person.Needed
	switch {
	case errors.As(err, &needed):
		return needed.Result()
	case errors.As(err, &refusal):
		return answer.Refused(refusal)
	case ctx.Err() != nil:
		return answer.Refused(answer.CallCanceled())
	}
	s.Log.Error("a tool call failed", "tool", tool, "err", err)
	return answer.Refused(answer.Fault())
}
