package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
	"paddock/internal/mcpserver/progress"
	"paddock/internal/mcpserver/texts"
)

// delegateTools are listed where the policy lets agents be started.
func (s *session) delegateTools() []tool {
	if s.Delegates == nil || !s.Delegates() {
		return nil
	}
	yes, no := true, false
	return []tool{
		newTool(s, mcp.Tool{
			Name: "delegate_task", Title: "Give a task to an agent", Description: texts.Delegate,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
		}, func(s *session, ctx context.Context, _ call, in ask.Delegate) (answer.Worker, error) {
			d, err := s.App.Delegate(context.WithoutCancel(ctx), in.Ask(s.Principal, s.OnDisconnect == Kill, s.Delegate))
			if err == nil && s.OnDisconnect == Kill && !d.CreatedAt.Before(s.began) {
				s.mu.Lock()
				s.workers = append(s.workers, d.ID)
				s.mu.Unlock()
			}
			return answer.NewWorker(d), err
		}),
		newTool(s, mcp.Tool{
			Name: "collect_results", Title: "Results of delegates", Description: texts.Collect,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, (*session).collect),
		newTool(s, mcp.Tool{
			Name: "cancel_delegate", Title: "End a delegate", Description: texts.CancelDelegate,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		}, func(s *session, ctx context.Context, _ call, in ask.Cancel) (answer.Worker, error) {
			d, err := s.App.CancelDelegate(ctx, s.Principal, in.WorkerID, in.Reason)
			return answer.NewWorker(d), err
		}),
	}
}

// collect is collect_results. When the client closes its side, waiting ends and the
// answer is what is there at that time.
func (s *session) collect(ctx context.Context, c call, in ask.Collect) (answer.Collected, error) {
	asked := in.Collect(s.Principal)
	if asked.Wait > 0 {
		defer progress.Report(ctx, c.req, asked.Wait, s.Log)()
	}
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	out, err := s.App.CollectDelegates(waiting, asked)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		asked.Wait = 0
		out, err = s.App.CollectDelegates(ctx, asked)
	}
	return answer.NewCollected(out), err
}
