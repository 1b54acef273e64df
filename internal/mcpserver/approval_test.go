package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
)

// asks is a house in which every run waits for approval.
type asks struct {
	*fake
	votes, kills chan string
}

func (a asks) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	run, err := a.fake.Start(ctx, req)
	a.change(run.ID, func(r *fakeRun) {
		r.State, r.StartedAt, r.Approval = paddock.Waiting, nil, "a0000000000000000000-1"
		run = r.Run
	})
	return run, err
}

func (a asks) Approval(_ context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	asked := paddock.Request{Principal: p, Command: paddock.Command{Argv: []string{"git", "push"}}}
	return paddock.Approval{ID: id, Matter: paddock.Matter{Principal: p, RequestDigest: asked.Digest(), Argv: []string{"git", "push\x1b[2J"}, Dir: "/srv",
		EnvironmentNames: []string{"CI", "PATH"}, Stdin: "sha256:5"},
		Says: []paddock.RuleSays{{Rule: "push", Message: "Read it.\nstdin: empty"}, {Rule: "mute"}}}, nil
}

func (a asks) Vote(_ context.Context, _ paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	a.votes <- string(envelope)
	return paddock.Approval{ID: id}, nil
}

func (a asks) Kill(_ context.Context, _ paddock.Principal, _ paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	a.kills <- req.Reason
	return paddock.Run{}, nil
}

// A client of the library's own whose person answers in this way.
func elicited(t *testing.T, revision string, answer *mcp.ElicitResult) (asks, chan string) {
	t.Helper()
	house := asks{&fake{}, make(chan string, 1), make(chan string, 1)}
	shown := make(chan string, 1)
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(t.Context()), Config{App: house, Principal: me, Version: "test", Log: slog.New(slog.DiscardHandler)}, serverIn, serverOut)
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown <- req.Params.Message
			return answer, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_command_bg", Arguments: map[string]any{"argv": []string{"git", "push"}}})
	if err != nil || result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if !strings.Contains(text, `"state":"waiting"`) || !strings.Contains(text, "a0000000000000000000-1") || !strings.Contains(text, "A person must approve") {
		t.Errorf("the model is told %s", text)
	}
	return house, shown
}

// eras are revisions of the protocol in which a person is asked: by a request to the
// client, and by an answer to it.
var eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func eachEra(t *testing.T, test func(t *testing.T, revision string)) {
	t.Parallel()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			test(t, revision)
		})
	}
}

func TestElicitedVote(t *testing.T) { eachEra(t, elicitedVote) }

func elicitedVote(t *testing.T, revision string) {
	house, shown := elicited(t, revision, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"vote": " {signed} "}})
	if got := <-house.votes; got != "{signed}" {
		t.Errorf("the vote is %q", got)
	}
	if text := <-shown; !strings.Contains(text, `"push\x1b[2J"`) || !strings.Contains(text, "variables: [\"CI\" \"PATH\"]\nstdin: sha256:5") || !strings.Contains(text, `rule push says: "Read it.\nstdin: empty"`) || strings.Contains(text, "rule mute says") || !strings.Contains(text, "paddock approve show a0000000000000000000-1") {
		t.Errorf("a person is shown %q", text)
	}
}

func TestElicitedDecline(t *testing.T) { eachEra(t, elicitedDecline) }

func elicitedDecline(t *testing.T, revision string) {
	house, _ := elicited(t, revision, &mcp.ElicitResult{Action: "decline"})
	if got := <-house.kills; !strings.Contains(got, "declined") {
		t.Errorf("killed for %q", got)
	}
}

// A client that says yes without a signature has approved nothing.
func TestElicitedYesApprovesNothing(t *testing.T) {
	eachEra(t, func(t *testing.T, revision string) {
		elicitedNothing(t, revision, &mcp.ElicitResult{Action: "accept", Content: map[string]any{}})
	})
}

// Who closes the form has said nothing: the run goes on waiting.
func TestElicitedCancelLeavesItWaiting(t *testing.T) {
	eachEra(t, func(t *testing.T, revision string) {
		elicitedNothing(t, revision, &mcp.ElicitResult{Action: "cancel"})
	})
}

func elicitedNothing(t *testing.T, revision string, answer *mcp.ElicitResult) {
	house, shown := elicited(t, revision, answer)
	<-shown
	t.Cleanup(func() { // after the connection has ended
		if len(house.votes)+len(house.kills) > 0 {
			t.Error("something came of it")
		}
	})
}

// modern is the _meta of a client of revision 2026-07-28 that can show forms.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// rounds is a house that asks, a client of the newest revision, and the id of the run
// about which it was told to ask its person.
func rounds(t *testing.T) (asks, *client, string) {
	t.Helper()
	house := asks{&fake{}, make(chan string, 1), make(chan string, 1)}
	c := dial(t, Config{App: house})
	m := c.ask("tools/call", `{`+modern+`,"name":"run_command_bg","arguments":{"argv":["git","push"]}}`)
	got := parse[struct {
		ResultType, RequestState string
		InputRequests            map[string]struct{ Method string }
	}](t, m.Result)
	if got.ResultType != "input_required" || got.InputRequests["approval"].Method != "elicitation/create" || len(got.InputRequests) != 1 {
		t.Fatalf("it is answered %s", m.raw)
	}
	return house, c, got.RequestState
}

// What a person says of a task that waits no more is told to have no effect.
func TestElicitedTooLate(t *testing.T) {
	t.Parallel()
	house, c, state := rounds(t)
	house.change(paddock.RunID(state), func(r *fakeRun) { r.State = paddock.Killed })
	m := c.ask("tools/call", `{`+modern+`,"name":"run_command_bg","arguments":{"argv":["git","push"]},"requestState":"`+state+`","inputResponses":{"approval":{"action":"accept","content":{"vote":"{signed}"}}}}`)
	if len(house.votes) > 0 || !strings.Contains(m.raw, "has no effect: the task waits for it no more") {
		t.Errorf("it is answered %s", m.raw)
	}
}

// What comes back must be about the same request of the same caller, and be one
// answered form; nothing of it starts or ends anything otherwise.
func TestRefusal_invalid_request_rounds(t *testing.T) {
	t.Parallel()
	house, c, state := rounds(t)
	other := string(house.add(paddock.Principal{Kind: paddock.Agent, ID: "agent:else"}, "git", "push"))
	plain := string(house.add(me, "git", "push"))
	const push, said = `{"argv":["git","push"]}`, `{"approval":{"action":"decline"}}`
	for name, it := range map[string]struct{ state, arguments, responses, want string }{
		"other words":        {state, `{"argv":["git","push","--force"]}`, said, "other arguments"},
		"no state":           {"", push, said, "requestState isn't one"},
		"no answer":          {state, push, `{}`, "nothing else"},
		"null":               {state, push, `null`, "nothing else"},
		"another name":       {state, push, `{"vote":{"action":"decline"}}`, "nothing else"},
		"two":                {state, push, `{"approval":{"action":"decline"},"more":{"action":"accept"}}`, "nothing else"},
		"roots":              {state, push, `{"approval":{"roots":[]}}`, "nothing else"},
		"another action":     {state, push, `{"approval":{"action":"approve"}}`, "accept, decline or cancel"},
		"a vote of a number": {state, push, `{"approval":{"action":"accept","content":{"vote":1}}}`, "is text"},
		"a path":             {"../../etc/passwd", push, said, "requestState isn't one"},
		"ten times too long": {strings.Repeat("a", 400), push, said, "requestState isn't one"},
		"NUL":                {`r\u0000`, push, said, "requestState isn't one"},
		"of somebody else":   {other, push, said, "no task"},
		"nobody is asked":    {plain, push, said, "nobody is asked about"},
	} {
		m := c.ask("tools/call", `{`+modern+`,"name":"run_command_bg","arguments":`+it.arguments+`,"requestState":"`+it.state+`","inputResponses":`+it.responses+`}`)
		if m.Error != nil {
			t.Errorf("%s: %s", name, m.raw)
			continue
		}
		if r := c.result(m); !r.IsError || !strings.Contains(r.Content[0].Text, it.want) {
			t.Errorf("%s: it is answered %s", name, m.raw)
		}
	}
	if len(house.votes)+len(house.kills) > 0 {
		t.Error("something came of it")
	}
	if n := len(house.runs); n != 3 {
		t.Errorf("there are %d runs now", n)
	}
}

// A vote that doesn't count leaves the run waiting, and the caller is told.
func TestElicitedVoteThatDoesNotCount(t *testing.T) {
	t.Parallel()
	house := denies{asks{&fake{}, make(chan string, 1), make(chan string, 1)}}
	c := dial(t, Config{App: house})
	m := c.ask("tools/call", `{`+modern+`,"name":"run_command_bg","arguments":{"argv":["git","push"]}}`)
	state := parse[struct{ RequestState string }](t, m.Result).RequestState
	m = c.ask("tools/call", `{`+modern+`,"name":"run_command_bg","arguments":{"argv":["git","push"]},"requestState":"`+state+`","inputResponses":{"approval":{"action":"accept","content":{"vote":"{}"}}}}`)
	r := c.result(m)
	if text := r.Content[0].Text; r.IsError || !strings.Contains(text, `"state":"waiting"`) || !strings.Contains(text, "has no effect: ") || !strings.Contains(text, "who asks can't approve") {
		t.Errorf("it is answered %s", m.raw)
	}
}

type denies struct{ asks }

func (denies) Vote(context.Context, paddock.Principal, paddock.ApprovalID, []byte) (paddock.Approval, error) {
	return paddock.Approval{}, paddock.Refused(paddock.Forbidden, "The vote doesn't count: who asks can't approve it.")
}

// A client that can't show forms is told the same as ever.
func TestNobodyToElicit(t *testing.T) {
	t.Parallel()
	house := asks{&fake{}, make(chan string, 1), make(chan string, 1)}
	c := dial(t, Config{App: house})
	for _, meta := range []string{stateless, strings.Replace(modern, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, 1)} {
		m := c.ask("tools/call", `{`+meta+`,"name":"run_command_bg","arguments":{"argv":["git","push"]}}`)
		if r := c.result(m); r.IsError || r.ResultType != "complete" || !strings.Contains(r.Content[0].Text, `"state":"waiting"`) {
			t.Errorf("it is answered %s", m.raw)
		}
	}
}
