package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
)

// Codes of tool errors that aren't refusals.
const (
	internal paddock.Code = "internal" // our fault; details are in the log only
	canceled paddock.Code = "canceled" // the client took the call back
)

// A refusalResult is a tool error as structured content.
type refusalResult struct {
	Code       paddock.Code `json:"code" jsonschema:"stable name of the refusal"`
	Message    string       `json:"message" jsonschema:"what is refused and why"`
	Hint       string       `json:"hint,omitzero" jsonschema:"what to do next"`
	Rule       string       `json:"rule,omitzero" jsonschema:"rule of the policy that refused"`
	Gate       paddock.Gate `json:"gate,omitzero" jsonschema:"which check refused"`
	Position   *position    `json:"position,omitzero" jsonschema:"where in the policy"`
	Suggestion *suggestion  `json:"suggestion,omitzero" jsonschema:"what was probably meant; nothing runs it"`
	Retryable  bool         `json:"retryable" jsonschema:"the same request may pass later"`
	Others     []other      `json:"others,omitzero" jsonschema:"further reasons against the same request"`
}

type position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

type suggestion struct {
	Argvs [][]string `json:"argvs,omitzero" jsonschema:"argv arrays, in order"`
	Note  string     `json:"note,omitzero"`
}

type other struct {
	Code    paddock.Code `json:"code"`
	Message string       `json:"message"`
	Hint    string       `json:"hint,omitzero"`
}

// invalid refuses a request that makes no sense.
func invalid(format string, args ...any) *paddock.Refusal {
	return paddock.Refused(paddock.InvalidRequest, format, args...)
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

// succeeded answers with out as structured content and as text.
func succeeded(out any) (*mcp.CallToolResult, error) {
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("%w: a result that can't be encoded: %w", paddock.ErrFault, err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
		StructuredContent: jsontext.Value(body),
	}, nil
}

// failed answers with what a caller may know of err; the rest goes to the log.
func (s *session) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	var refusal *paddock.Refusal
	switch {
	case errors.As(err, &refusal):
		return refused(refusal)
	case ctx.Err() != nil:
		return refused(&paddock.Refusal{
			Code: canceled, Message: "the call was canceled; what it asked about goes on", Retryable: true,
			Hint: "Ask again; command_list finds tasks whose id was lost.",
		})
	}
	s.Log.Error("a tool call failed", "tool", tool, "err", err)
	return refused(&paddock.Refusal{
		Code: internal, Message: "Paddock failed to do this by a fault of its own or of this machine; nothing is wrong with the request",
		Hint: "Ask again once. If it stays, the operator finds the cause in the server's log.", Retryable: true,
	})
}

// refused answers with a tool error: for programs as structured content, and
// in words for clients that show models nothing else.
func refused(r *paddock.Refusal) *mcp.CallToolResult {
	out := refusalResult{
		Code: r.Code, Message: r.Message, Hint: r.Hint, Rule: r.Rule, Gate: r.Gate, Retryable: r.Retryable,
	}
	if r.Position != nil {
		// Agents need the place; where the operator keeps the file isn't theirs.
		out.Position = &position{path.Base(r.Position.File), r.Position.Line, r.Position.Column}
	}
	if r.Suggestion != nil {
		out.Suggestion = &suggestion{r.Suggestion.Argvs, r.Suggestion.Note}
	}
	for _, o := range r.Others {
		out.Others = append(out.Others, other{o.Code, o.Message, o.Hint})
	}
	result := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: out.text()}}}
	// Strings, numbers and booleans always encode; if ever not, the words remain.
	if body, err := json.Marshal(out); err == nil {
		result.StructuredContent = jsontext.Value(body)
	}
	return result
}

// text is the refusal for readers.
func (r refusalResult) text() string {
	var b strings.Builder
	verb := "Refused"
	if r.Code == internal || r.Code == canceled {
		verb = "Failed"
	}
	fmt.Fprintf(&b, "%s (%s): %s", verb, r.Code, r.Message)
	if r.Hint != "" {
		fmt.Fprintf(&b, "\nWhat to do: %s", r.Hint)
	}
	if s := r.Suggestion; s != nil {
		for _, argv := range s.Argvs {
			if words, err := json.Marshal(argv); err == nil {
				fmt.Fprintf(&b, "\nProbably meant: argv %s", words)
			}
		}
		if s.Note != "" {
			fmt.Fprintf(&b, "\nNote: %s", s.Note)
		}
	}
	if r.Rule != "" {
		fmt.Fprintf(&b, "\nRule: %s", r.Rule)
	}
	if p := r.Position; p != nil {
		fmt.Fprintf(&b, "\nPolicy: %s:%d:%d", p.File, p.Line, p.Column)
	}
	for _, o := range r.Others {
		fmt.Fprintf(&b, "\nAlso (%s): %s", o.Code, o.Message)
		if o.Hint != "" {
			fmt.Fprintf(&b, " %s", o.Hint)
		}
	}
	return b.String()
}
