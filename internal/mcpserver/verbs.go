package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/answer/preview"
	"paddock/internal/mcpserver/ask"
	"paddock/internal/mcpserver/person"
)

// start is run_command_bg. Once the verb is asked, the client's patience has no
// say: a run that is started must be recorded and known, not half made.
func (s *session) start(ctx context.Context, c call, in ask.Start) (answer.Started, error) {
	if err := ctx.Err(); err != nil {
		return answer.Started{}, err
	}
	cmd, err := in.Command()
	if err == nil {
		cmd.Workspace, err = s.place(ctx, in.Workspace)
	}
	if err != nil {
		return answer.Started{}, err
	}
	ctx = context.WithoutCancel(ctx)
	if person.Answers(c.req) {
		run, note, err := person.Answered(ctx, s.App, s.Principal, cmd, c.req)
		if err != nil {
			return answer.Started{}, found(paddock.RunID(c.req.Params.RequestState), err)
		}
		out := answer.NewStarted(run, s.counters(ctx))
		out.Note = strings.TrimSpace(note + " " + out.Note)
		return out, nil
	}
	run, err := s.App.Start(ctx, paddock.Request{
		Principal: s.Principal, Door: paddock.DoorMCP, Command: cmd, IdempotencyKey: in.IdempotencyKey,
		Tied: s.OnDisconnect == Kill, // also when we are killed, as clients do
	})
	if err != nil {
		return answer.Started{}, err
	}
	s.remember(run)
	answers, asks := person.In(c.req)
	switch {
	case run.State != paddock.Waiting:
	case asks:
		return answer.Started{}, person.Need(ctx, s.App, run)
	case !answers:
		s.asking.Go(func() {
			ctx, cancel := s.waiting(s.life)
			defer cancel()
			person.Ask(ctx, c.req.Session, s.App, run, s.Log)
		})
	}
	return answer.NewStarted(run, s.counters(ctx)), nil
}

// place is the directory of a workspace.
func (s *session) place(ctx context.Context, name string) (string, error) {
	switch {
	case s.Workspace != nil:
		return s.Workspace(ctx, name)
	case name != "":
		return "", ask.NoWorkspaces()
	}
	return "", nil
}

// status is command_status.
func (s *session) status(ctx context.Context, c call, in ask.Status) (answer.Status, error) {
	id, err := ask.TaskID(in.TaskID)
	if err != nil {
		return answer.Status{}, err
	}
	wait, note := in.Wait()
	began := s.Now()
	run, err := s.await(ctx, c, id, wait)
	if err != nil {
		return answer.Status{}, found(id, err)
	}
	out := answer.NewStatus(run, s.tail(ctx, run), s.counters(ctx))
	if wait > 0 {
		waited := s.Now().Sub(began).Milliseconds()
		out.WaitedMs = &waited
		if !out.Settled && out.Note == "" {
			out.Note = note
		}
	}
	return out, nil
}

// output is command_output.
func (s *session) output(ctx context.Context, c call, in ask.Output) (answer.Page, error) {
	id, err := ask.TaskID(in.TaskID)
	if err != nil {
		return answer.Page{}, err
	}
	req, note := in.Page()
	page, err := s.page(ctx, c, id, req)
	if err != nil {
		return answer.Page{}, found(id, err)
	}
	out := answer.NewPage(id, page, req.Grep != "", s.counters(ctx))
	if page.NextOffset == page.Offset && !page.EOF {
		out.Note = note
	}
	return out, nil
}

// retrieve is retrieve_context: an artifact is what a run of any kind printed.
func (s *session) retrieve(ctx context.Context, c call, in ask.Retrieve) (answer.Artifact, error) {
	id, err := paddock.ParseRunID(in.ArtifactID)
	if err != nil {
		return answer.Artifact{}, ask.NoArtifact()
	}
	req, note := in.Page()
	page, err := s.page(ctx, c, id, req)
	if r, ok := errors.AsType[*paddock.Refusal](err); ok && r.Code == paddock.NotFound {
		err = ask.NoArtifact()
	}
	if err != nil {
		return answer.Artifact{}, err
	}
	out := answer.NewArtifact(id, page, s.counters(ctx))
	if page.NextOffset == page.Offset && !page.EOF {
		out.Note = note
	}
	return out, nil
}

// kill is command_kill.
func (s *session) kill(ctx context.Context, _ call, in ask.Kill) (answer.Status, error) {
	id, err := ask.TaskID(in.TaskID)
	if err != nil {
		return answer.Status{}, err
	}
	run, err := s.App.Kill(ctx, s.Principal, id, in.Request())
	if err != nil {
		return answer.Status{}, found(id, err)
	}
	return answer.NewStatus(run, s.tail(ctx, run), s.counters(ctx)), nil
}

// list is command_list.
func (s *session) list(ctx context.Context, _ call, in ask.List) (answer.Listing, error) {
	listing, err := s.App.List(ctx, s.Principal, in.Filter())
	if err != nil {
		return answer.Listing{}, err
	}
	return answer.NewListing(listing, s.counters(ctx)), nil
}

// tail is the end of what a run has printed.
func (s *session) tail(ctx context.Context, run paddock.Run) string {
	return preview.Read(ctx, s.App.Output, s.Principal, run, s.Log)
}

// ended is the answer of run_command_bg for a client that waited for the end.
func (s *session) ended(ctx context.Context, run paddock.Run) (*mcp.CallToolResult, error) {
	out := answer.NewStarted(run, s.counters(ctx))
	if o := run.Outcome; o != nil {
		out.ExitCode = o.Reason.ExitCode
	}
	out.TailPreview = s.tail(ctx, run)
	return answer.Succeeded(out)
}

// counters never fails a call: a task whose id got lost for want of a number
// would be a bad trade. Without numbers the fields are left out.
func (s *session) counters(ctx context.Context) (out answer.Counters) {
	if s.PolicyNotice != nil {
		out.PolicyNotice = s.PolicyNotice()
	}
	c, err := s.App.Counters(ctx, s.Principal)
	if err == nil {
		out.Running, out.Finished = &c.Running, &c.Finished
	} else if _, refused := errors.AsType[*paddock.Refusal](err); !refused && ctx.Err() == nil {
		s.Log.Error("counting runs", "err", err)
	}
	return out
}

// found makes every NotFound of a verb on one task look the same.
func found(id paddock.RunID, err error) error {
	if r, ok := errors.AsType[*paddock.Refusal](err); ok && r.Code == paddock.NotFound {
		return ask.NoTask(string(id))
	}
	return err
}
