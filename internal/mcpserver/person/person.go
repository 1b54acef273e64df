// Package person shows the person who sits at an MCP client what waits for approval.
//
// # Limits
//
// The client is the caller's: what it answers approves nothing by itself. Most clients
// can't ask, and none is waited for.
package person

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/clean"
)

// voteField is what a person at the client may fill in.
const voteField = "vote"

// Verbs is what comes of an answer.
type Verbs interface {
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
}

// Ask has the client, if it can, show its person what waits, and returns when that is
// answered or ctx ends. Who sits there may take it back, or hand in what an approver
// signed.
func Ask(ctx context.Context, session *mcp.ServerSession, verbs Verbs, run paddock.Run, log *slog.Logger) {
	a, err := verbs.Approval(ctx, run.Principal, run.Approval)
	if err != nil {
		log.Debug("asking the client's person", "err", err)
		return
	}
	answer, err := session.Elicit(ctx, form(a))
	if err != nil {
		log.Debug("asking the client's person", "err", err)
		return
	}
	if err := act(ctx, verbs, run, answer); err != nil {
		log.Warn("what the client's person answered", "run", string(run.ID), "err", err)
	}
}

// form is what the client shows.
func form(a paddock.Approval) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: question(a),
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{voteField: map[string]any{
			"type": "string", "title": "Vote", "description": "what `paddock approve sign` printed; empty if it is approved elsewhere",
		}}},
	}
}

// question says what a person must know of a.
func question(a paddock.Approval) string {
	m := a.Matter
	var b strings.Builder
	fmt.Fprintf(&b, "Approval %s is needed before this runs.\n", a.ID)
	fmt.Fprintf(&b, "argv: %q\ndirectory: %q\n", m.Argv, m.Dir)
	for _, p := range m.Programs {
		fmt.Fprintf(&b, "program: %q %s\n", p.Path, p.Digest)
	}
	stdin := "empty"
	switch {
	case m.Terminal:
		stdin = "a terminal: whatever is typed there while it runs, which nobody judges"
	case m.Stdin != "":
		stdin = string(m.Stdin)
	}
	fmt.Fprintf(&b, "variables: %q\nstdin: %s\n", m.EnvironmentNames, stdin)
	fmt.Fprintf(&b, "rules: %s\ncontainment: %s\n", strings.Join(m.Rules, ", "), m.Containment)
	for _, s := range a.Says {
		if s.Message != "" { // quoted: it is one line, whatever is in it
			fmt.Fprintf(&b, "rule %s says: %q\n", s.Rule, s.Message)
		}
	}
	if m.SecondFactor {
		fmt.Fprintf(&b, "An approver brings a vote to a server to which he showed a second factor; `paddock approve yes` isn't enough. ")
	}
	fmt.Fprintf(&b, "An approver runs `paddock approve show %[1]s` and `paddock approve yes %[1]s`. Decline takes the request back.", a.ID)
	return string(clean.Bytes([]byte(b.String()), clean.Text))
}
