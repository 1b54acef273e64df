package streamable

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The conformance suite calls tools, resources and prompts by names of its own. Here
// they are, behind the same door as Paddock's tools: what is tested is the door.

// A play is what a tool of the fixture does.
type play func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// fixture is a server with everything that the suite asks for.
func fixture(context.Context) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "paddock-conformance", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"paris"}, Total: 1}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, some := range []map[string]play{contents(), talks(), asks(), rounds()} {
		for name, do := range some {
			server.AddTool(&mcp.Tool{Name: name, Description: "For the conformance suite.", InputSchema: jsontext.Value(`{"type":"object"}`)}, refusing(do))
		}
	}
	for name, do := range changes(server) {
		server.AddTool(&mcp.Tool{Name: name, Description: "For the conformance suite.", InputSchema: jsontext.Value(`{"type":"object"}`)}, do)
	}
	server.AddTool(&mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "Has a schema of the 2020-12 draft.",
		InputSchema: jsontext.Value(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`),
	}, says("called"))
	server.AddTool(&mcp.Tool{
		Name: "test_x_mcp_header", Description: "Has a parameter that is a header too.",
		InputSchema: jsontext.Value(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer","x-mcp-header":"Level"}}}`),
	}, says("called"))
	resources(server)
	prompts(server)
	return server
}

// refusing makes of an error that isn't one of the protocol's a tool's.
func refusing(do play) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := do(ctx, req)
		if _, protocol := errors.AsType[*jsonrpc.Error](err); err == nil || protocol {
			return r, err
		}
		r = answers(&mcp.TextContent{Text: err.Error()})
		r.IsError = true
		return r, nil
	}
}

func answers(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func says(format string, args ...any) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return answers(&mcp.TextContent{Text: fmt.Sprintf(format, args...)}), nil
	}
}

// picture is an image of one dot.
func picture() *mcp.ImageContent {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return &mcp.ImageContent{Data: b.Bytes(), MIMEType: "image/png"}
}

// silence is a sound file without samples.
func silence() *mcp.AudioContent {
	var b bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), uint32(36), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8), []byte("data"), uint32(0),
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return &mcp.AudioContent{Data: b.Bytes(), MIMEType: "audio/wav"}
}

func embedded(uri, media, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: media, Text: text}}
}

// contents are tools that answer at once.
func contents() map[string]play {
	return map[string]play{
		"test_simple_text": play(says("This is a simple text response for testing.")),
		"test_image_content": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answers(picture()), nil
		},
		"test_audio_content": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answers(silence()), nil
		},
		"test_embedded_resource": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answers(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")), nil
		},
		"test_multiple_content_types": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answers(&mcp.TextContent{Text: "Multiple content types test:"}, picture(), embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)), nil
		},
		"test_error_handling": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("this tool intentionally returns an error for testing")
		},
		"test_streaming_elicitation": play(says("only a result")),
		"test_missing_capability": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if can := req.ClientCapabilities(); can != nil && can.Sampling != nil {
				return answers(&mcp.TextContent{Text: "sampling is there"}), nil
			}
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: []byte(`{"requiredCapabilities":{"sampling":{}}}`)}
		},
	}
}

// talks are tools that say something before they answer.
func talks() map[string]play {
	log := func(lines ...string) play {
		return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, line := range lines {
				if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
					return nil, err
				}
			}
			return answers(&mcp.TextContent{Text: "logged"}), nil
		}
	}
	return map[string]play{
		"test_tool_with_logging": log("Tool execution started", "Tool processing data", "Tool execution completed"),
		"test_logging_tool":      log("one line"),
		"test_tool_with_progress": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			token := req.Params.GetProgressToken()
			for _, done := range []float64{0, 50, 100} {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
					return nil, err
				}
			}
			return answers(&mcp.TextContent{Text: fmt.Sprint(token)}), nil
		},
		"test_reconnection": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Extra != nil && req.Extra.CloseSSEStream != nil {
				req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10_000_000})
			}
			return answers(&mcp.TextContent{Text: "answered after the stream was closed"}), nil
		},
	}
}

// asks are tools that ask the client while they are called, as earlier revisions do.
func asks() map[string]play {
	elicit := func(message func(map[string]any) string, schema string) play {
		return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			said, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message(in), RequestedSchema: jsontext.Value(schema)})
			if err != nil {
				return nil, err
			}
			return answers(&mcp.TextContent{Text: fmt.Sprintf("action=%s, content=%v", said.Action, said.Content)}), nil
		}
	}
	fixed := func(map[string]any) string { return "Please fill this in." }
	return map[string]play{
		"test_sampling": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Prompt string `json:"prompt"`
			}
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			said, err := req.Session.CreateMessage(ctx, question(in.Prompt))
			if err != nil {
				return nil, err
			}
			text, _ := said.Content.(*mcp.TextContent)
			return answers(&mcp.TextContent{Text: "LLM response: " + text.Text}), nil
		},
		"test_elicitation": elicit(func(in map[string]any) string { return fmt.Sprint(in["message"]) },
			`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`),
		"test_elicitation_sep1034_defaults": elicit(fixed,
			`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}},"required":[]}`),
		"test_elicitation_sep1330_enums": elicit(fixed,
			`{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}`),
	}
}

func question(text string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}, MaxTokens: 100}
}

func form(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{field: {Type: kind}}, Required: []string{field},
	}}
}

// filled is what a form was answered; nil if it wasn't accepted.
func filled(all mcp.InputResponseMap, name string) map[string]any {
	said, ok := all[name].(*mcp.ElicitResult)
	if !ok || said == nil || said.Action != "accept" {
		return nil
	}
	return said.Content
}

// sampled is what a question was answered.
func sampled(all mcp.InputResponseMap, name string) string {
	said, ok := all[name].(*mcp.CreateMessageWithToolsResult)
	if !ok || said == nil {
		return ""
	}
	for _, c := range said.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// seal makes a state that nobody else can; open returns what was sealed.
func seal(text string) string {
	mac := hmac.New(sha256.New, []byte("of the fixture"))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(append(mac.Sum(nil), text...))
}

func unseal(state string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(b) < sha256.Size || seal(string(b[sha256.Size:])) != state {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState isn't ours"}
	}
	return string(b[sha256.Size:]), nil
}

func needs(state string, inputs mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: inputs, RequestState: state}
}

// rounds are tools that are called again with what they asked for, as from 2026-07-28 on.
func rounds() map[string]play {
	confirmed := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState != "" {
			if _, err := unseal(req.Params.RequestState); err != nil {
				return nil, err
			}
			if filled(req.Params.InputResponses, "confirm") != nil {
				return answers(&mcp.TextContent{Text: "state-ok"}), nil
			}
		}
		return needs(seal("confirm"), mcp.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}), nil
	}
	return map[string]play{
		"test_input_required_result_request_state":  confirmed,
		"test_input_required_result_tampered_state": confirmed,
		"test_input_required_result_elicitation": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name, _ := filled(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
				return answers(&mcp.TextContent{Text: "Hello, " + name + "!"}), nil
			}
			return needs("", mcp.InputRequestMap{"user_name": form("What is your name?", "name", "string")}), nil
		},
		"test_input_required_result_sampling": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if text := sampled(req.Params.InputResponses, "capital_question"); text != "" {
				return answers(&mcp.TextContent{Text: text}), nil
			}
			return needs("", mcp.InputRequestMap{"capital_question": question("What is the capital of France?")}), nil
		},
		"test_input_required_result_list_roots": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if said, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
				return answers(&mcp.TextContent{Text: fmt.Sprintf("%d roots", len(said.Roots))}), nil
			}
			return needs("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
		},
		"test_input_required_result_multiple_inputs": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			all := req.Params.InputResponses
			name, _ := filled(all, "user_name")["name"].(string)
			said, ok := all["client_roots"].(*mcp.ListRootsResult)
			if greeting := sampled(all, "greeting"); ok && name != "" && greeting != "" {
				return answers(&mcp.TextContent{Text: fmt.Sprintf("%s %s, %d roots", greeting, name, len(said.Roots))}), nil
			}
			return needs(seal("several"), mcp.InputRequestMap{
				"user_name": form("What is your name?", "name", "string"), "greeting": question("Say hello"), "client_roots": &mcp.ListRootsParams{},
			}), nil
		},
		"test_input_required_result_multi_round":  severalRounds,
		"test_input_required_result_capabilities": capable,
	}
}

// severalRounds asks twice, and knows by its state how far it is.
func severalRounds(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		return needs(seal("one"), mcp.InputRequestMap{"step1": form("What is your name?", "name", "string")}), nil
	}
	at, err := unseal(req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if at == "one" {
		name, _ := filled(req.Params.InputResponses, "step1")["name"].(string)
		return needs(seal("two "+name), mcp.InputRequestMap{"step2": form("What is your favourite colour?", "color", "string")}), nil
	}
	color, _ := filled(req.Params.InputResponses, "step2")["color"].(string)
	return answers(&mcp.TextContent{Text: strings.TrimPrefix(at, "two ") + " likes " + color}), nil
}

// capable asks only for what the client says that it can.
func capable(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return answers(&mcp.TextContent{Text: "answered"}), nil
	}
	can, inputs := req.ClientCapabilities(), mcp.InputRequestMap{}
	if can != nil && can.Elicitation != nil {
		inputs["user_name"] = form("What is your name?", "name", "string")
	}
	if can != nil && can.Sampling != nil {
		inputs["greeting"] = question("Say hello")
	}
	if len(inputs) == 0 {
		return answers(&mcp.TextContent{Text: "this client can't be asked"}), nil
	}
	return needs("", inputs), nil
}

// changes are tools that change what there is, so that subscribers are told.
func changes(server *mcp.Server) map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"test_trigger_tool_change": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			server.AddTool(&mcp.Tool{Name: "test_passing", Description: "Comes and goes.", InputSchema: jsontext.Value(`{"type":"object"}`)}, says("here"))
			return says("changed")(ctx, req)
		},
		"test_trigger_prompt_change": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			server.AddPrompt(&mcp.Prompt{Name: "test_passing", Description: "Comes and goes."}, spoken(&mcp.TextContent{Text: "here"}))
			return says("changed")(ctx, req)
		},
	}
}

func resources(server *mcp.Server) {
	text := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "This is the content of the static text resource."}}}, nil
	}
	server.AddResource(&mcp.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, text)
	server.AddResource(&mcp.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain"}, text)
	server.AddResource(&mcp.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "image/png", Blob: picture().Data}}}, nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id, _ := strings.CutSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}}, nil
	})
}

func spoken(content ...mcp.Content) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		r := &mcp.GetPromptResult{}
		for _, c := range content {
			r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return r, nil
	}
}

func prompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "Simple"}, spoken(&mcp.TextContent{Text: "This is a simple prompt for testing."}))
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "With an image"}, spoken(picture(), &mcp.TextContent{Text: "Please analyze the image above."}))
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "With arguments", Arguments: []*mcp.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return spoken(&mcp.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"])})(ctx, req)
		})
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "With a resource", Arguments: []*mcp.PromptArgument{{Name: "resourceUri", Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return spoken(embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."), &mcp.TextContent{Text: "Please process the embedded resource above."})(ctx, req)
		})
	server.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks first"},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if said, _ := filled(req.Params.InputResponses, "user_context")["context"].(string); said != "" {
				return spoken(&mcp.TextContent{Text: "Context: " + said})(ctx, req)
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("What is it about?", "context", "string")}}, nil
		})
}
