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
	return paddock.Approval{ID: id, Matter: paddock.Matter{Principal: p, Argv: []string{"git", "push\x1b[2J"}, Dir: "/srv"}}, nil
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
func elicited(t *testing.T, answer *mcp.ElicitResult) (asks, chan string) {
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
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
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

func TestElicitedVote(t *testing.T) {
	t.Parallel()
	house, shown := elicited(t, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"vote": " {signed} "}})
	if got := <-house.votes; got != "{signed}" {
		t.Errorf("the vote is %q", got)
	}
	if text := <-shown; !strings.Contains(text, `"push\x1b[2J"`) || !strings.Contains(text, "paddock approve show a0000000000000000000-1") {
		t.Errorf("a person is shown %q", text)
	}
}

func TestElicitedDecline(t *testing.T) {
	t.Parallel()
	house, _ := elicited(t, &mcp.ElicitResult{Action: "decline"})
	if got := <-house.kills; !strings.Contains(got, "declined") {
		t.Errorf("killed for %q", got)
	}
}

// A client that says yes without a signature has approved nothing.
func TestElicitedYesApprovesNothing(t *testing.T) {
	t.Parallel()
	house, shown := elicited(t, &mcp.ElicitResult{Action: "accept", Content: map[string]any{}})
	<-shown
	t.Cleanup(func() { // after the connection has ended
		if len(house.votes)+len(house.kills) > 0 {
			t.Error("something came of it")
		}
	})
}
