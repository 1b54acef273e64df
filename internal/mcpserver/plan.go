package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
	"paddock/internal/mcpserver/texts"
	"paddock/internal/mcpserver/trees"
)

// planTools are the tools for the checklist.
func (s *session) planTools() []tool {
	no := false
	changes := &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
	return []tool{
		newTool(s, mcp.Tool{Name: "tasks_create", Title: "Add to the checklist", Description: texts.TasksCreate, Annotations: changes},
			func(s *session, ctx context.Context, _ call, in ask.CreateTasks) (answer.Plan, error) {
				plan, err := s.App.CreateTasks(ctx, s.Principal, s.Principal, in.Titles, in.IdempotencyKey)
				return answer.NewPlan(plan), err
			}),
		newTool(s, mcp.Tool{
			Name: "tasks_update", Title: "Tick off the checklist", Description: texts.TasksUpdate,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, func(s *session, ctx context.Context, _ call, in ask.UpdateTask) (answer.Plan, error) {
			plan, err := s.App.UpdateTask(ctx, s.Principal, s.Principal, in.Change())
			return answer.NewPlan(plan), err
		}),
		newTool(s, mcp.Tool{
			Name: "tasks_list", Title: "The checklist", Description: texts.TasksList,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		}, func(s *session, ctx context.Context, _ call, _ ask.ListTasks) (answer.Plan, error) {
			plan, err := s.App.Tasks(ctx, s.Principal, s.Principal)
			return answer.NewPlan(plan), err
		}),
	}
}

// treeTools are listed where there are workspaces.
func (s *session) treeTools() []tool {
	if s.Trees == nil {
		return nil
	}
	return []tool{treeTool(s, trees.MakeTool(), trees.DoMake), treeTool(s, trees.ListTool(), trees.DoList), treeTool(s, trees.RemoveTool(), trees.DoRemove)}
}

func treeTool[In ask.Input, Out any](s *session, t mcp.Tool, do func(context.Context, trees.Trees, In) (Out, error)) tool {
	return newTool(s, t, func(s *session, ctx context.Context, _ call, in In) (Out, error) { return do(ctx, s.Trees, in) })
}
