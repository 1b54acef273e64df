package remote

import (
	"context"

	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// grove are the worktrees of a caller's workspaces, as far as his credential is for them:
// the verbs ask that, with each call.
type grove struct {
	spaces narrow.Workspaces
	who    gate.Caller
}

// Make implements [mcpserver.Trees].
func (g grove) Make(ctx context.Context, workspace, rev, key string) (string, error) {
	return g.spaces.Worktree(ctx, g.who, workspace, rev, key)
}

// List implements [mcpserver.Trees].
func (g grove) List(ctx context.Context, workspace string) (worktree.Listing, error) {
	return g.spaces.Worktrees(ctx, g.who, workspace)
}

// Remove implements [mcpserver.Trees].
func (g grove) Remove(ctx context.Context, name string) error {
	return g.spaces.RemoveWorktree(ctx, g.who, name)
}
