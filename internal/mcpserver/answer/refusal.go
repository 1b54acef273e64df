package answer

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
)

// Codes of tool errors that aren't refusals.
const (
	Internal paddock.Code = "internal" // our fault; details are in the log only
	Canceled paddock.Code = "canceled" // the client took the call back
)

// A Refusal is a tool error as structured content.
type Refusal struct {
	Code       paddock.Code `json:"code" jsonschema:"stable name of the refusal"`
	Message    string       `json:"message" jsonschema:"what is refused and why"`
	Hint       string       `json:"hint,omitzero" jsonschema:"what to do next"`
	Rule       string       `json:"rule,omitzero" jsonschema:"rule of the policy that refused"`
	Gate       paddock.Gate `json:"gate,omitzero" jsonschema:"which check refused"`
	Position   *Position    `json:"position,omitzero" jsonschema:"where in the policy"`
	Suggestion *Suggestion  `json:"suggestion,omitzero" jsonschema:"what was probably meant; nothing runs it"`
	Retryable  bool         `json:"retryable" jsonschema:"the same request may pass later"`
	Others     []Other      `json:"others,omitzero" jsonschema:"further reasons against the same request"`
}

// A Position is a place in the policy file.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// A Suggestion is what was probably meant.
type Suggestion struct {
	Argvs [][]string `json:"argvs,omitzero" jsonschema:"argv arrays, in order"`
	Note  string     `json:"note,omitzero"`
}

// An Other is a further reason.
type Other struct {
	Code    paddock.Code `json:"code"`
	Message string       `json:"message"`
	Hint    string       `json:"hint,omitzero"`
}

// Succeeded answers with out as structured content and as text.
func Succeeded(out any) (*mcp.CallToolResult, error) {
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("%w: a result that can't be encoded: %w", paddock.ErrFault, err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
		StructuredContent: jsontext.Value(body),
	}, nil
}

// Refused answers with a tool error: for programs as structured content, and
// in words for clients that show models nothing else.
func Refused(r *paddock.Refusal) *mcp.CallToolResult {
	out := Refusal{
		Code: r.Code, Message: r.Message, Hint: r.Hint, Rule: r.Rule, Gate: r.Gate, Retryable: r.Retryable,
	}
	if r.Position != nil {
		// Agents need the place; where the operator keeps the file isn't theirs.
		out.Position = &Position{path.Base(r.Position.File), r.Position.Line, r.Position.Column}
	}
	if r.Suggestion != nil {
		out.Suggestion = &Suggestion{r.Suggestion.Argvs, r.Suggestion.Note}
	}
	for _, o := range r.Others {
		out.Others = append(out.Others, Other{o.Code, o.Message, o.Hint})
	}
	result := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: out.text()}}}
	// Strings, numbers and booleans always encode; if ever not, the words remain.
	if body, err := json.Marshal(out); err == nil {
		result.StructuredContent = jsontext.Value(body)
	}
	return result
}

// text is the refusal for readers.
func (r Refusal) text() string {
	var b strings.Builder
	verb := "Refused"
	if r.Code == Internal || r.Code == Canceled {
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
