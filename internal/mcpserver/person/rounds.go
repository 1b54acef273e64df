package person

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
)

// rounds is the first revision of the protocol in which a server asks nothing of
// clients: it answers that it needs input, and is called again with it.
const rounds = "2026-07-28"

// inputName is that of the one input that is ever asked for.
const inputName = "approval"

// Needed is an answer in place of a tool's: the client's person is to be shown
// something first, and the tool to be called again.
type Needed struct {
	Run      paddock.RunID
	question *mcp.ElicitParams
}

func (n *Needed) Error() string { return "run " + string(n.Run) + " waits for what a person says" }

// Result is the answer. Its state only names the run: whose that is, and what was
// asked for, is looked up when it comes back.
func (n *Needed) Result() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{inputName: n.question}, RequestState: string(n.Run)}
}

// In reports whether req's client is called back by answers and not by requests, and
// asks is whether it can show its person a form.
func In(req *mcp.CallToolRequest) (answers, asks bool) {
	hello := req.Session.InitializeParams()
	if hello == nil || hello.ProtocolVersion < rounds {
		return false, false
	}
	can := req.ClientCapabilities()
	return true, can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// Need is the answer that has the client show its person run, which waits.
func Need(ctx context.Context, verbs Verbs, run paddock.Run) error {
	a, err := verbs.Approval(ctx, run.Principal, run.Approval)
	if err != nil {
		return err
	}
	return &Needed{Run: run.ID, question: form(a)}
}

// Answers reports whether req brings what a person said, or claims to.
func Answers(req *mcp.CallToolRequest) bool {
	return req.Params.RequestState != "" || req.Params.InputResponses != nil
}

// Answered does what the person said whom [Need] had asked for the same request of
// p, and returns the run as it is then. Note is for the caller: what didn't count.
func Answered(ctx context.Context, verbs Verbs, p paddock.Principal, cmd paddock.Command, req *mcp.CallToolRequest) (run paddock.Run, note string, err error) {
	said, err := answerOf(req.Params)
	if err != nil {
		return run, "", err
	}
	id, err := paddock.ParseRunID(req.Params.RequestState)
	if err != nil {
		return run, "", invalid("requestState isn't one that this server gave")
	}
	if run, err = verbs.Status(ctx, p, id); err != nil {
		return run, "", err
	}
	if run.Approval == "" {
		return run, "", invalid("requestState is of a task that nobody is asked about")
	}
	a, err := verbs.Approval(ctx, p, run.Approval)
	if err != nil {
		return run, "", err
	}
	if a.Matter.RequestDigest != (paddock.Request{Principal: p, Command: cmd}).Digest() {
		return run, "", invalid("requestState is of a task with other arguments")
	}
	if err := act(ctx, verbs, run, said); err != nil {
		note = "What the person at the client answered has no effect: " + err.Error()
	}
	run, err = verbs.Status(ctx, p, id)
	return run, note, err
}

// answerOf is the one answer that there can be.
func answerOf(params *mcp.CallToolParamsRaw) (*mcp.ElicitResult, error) {
	said, ok := params.InputResponses[inputName].(*mcp.ElicitResult)
	if !ok || said == nil || len(params.InputResponses) != 1 {
		return nil, invalid("inputResponses must have %q, as an answered form, and nothing else", inputName)
	}
	switch said.Action {
	case "accept", "decline", "cancel":
	default:
		return nil, invalid("the action of a form is accept, decline or cancel")
	}
	if vote, there := said.Content[voteField]; there {
		if _, ok := vote.(string); !ok {
			return nil, invalid("%s of a form is text", voteField)
		}
	}
	return said, nil
}

func invalid(format string, args ...any) error {
	r := paddock.Refused(paddock.InvalidRequest, "%s.", fmt.Sprintf(format, args...))
	r.Hint = "To ask for a new task, leave out requestState and inputResponses; to answer for one, send its arguments unchanged."
	return r
}

// act does what a person at the client said about a run that waits. Saying yes does
// nothing: only what an approver signed counts.
func act(ctx context.Context, verbs Verbs, run paddock.Run, said *mcp.ElicitResult) (err error) {
	vote, _ := said.Content[voteField].(string)
	switch vote = strings.TrimSpace(vote); {
	case said.Action == "decline":
		_, err = verbs.Kill(ctx, run.Principal, run.ID, app.KillRequest{Reason: "declined at the client", NoWait: true})
	case said.Action == "accept" && vote != "":
		if now, err := verbs.Status(ctx, run.Principal, run.ID); err != nil || now.State != paddock.Waiting {
			return cmp.Or(err, errors.New("the task waits for it no more"))
		}
		_, err = verbs.Vote(ctx, run.Principal, run.Approval, []byte(vote))
	}
	return err
}
