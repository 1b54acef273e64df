// Package treed has runs start in worktrees of their own.
//
// # Limits
//
// It makes them, and doesn't remove them: paddock worktree does.
package treed

import (
	"context"
	"path/filepath"
	"strings"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// A server makes worktrees itself.
type server interface {
	StartIn(ctx context.Context, req paddock.Request, rev string) (paddock.Run, error)
}

// inTree are verbs whose runs start in a worktree of their own, made for them at rev.
type inTree struct {
	desk.Verbs
	rev string
}

// In is v with runs that start in a worktree made for them at rev; v where that is empty.
func In(v desk.Verbs, rev string) desk.Verbs {
	if rev == "" {
		return v
	}
	return inTree{v, rev}
}

// Start makes the worktree, and then starts the run in it: asked again with the same key,
// the same run in the same one.
func (v inTree) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	if s, ok := v.Verbs.(server); ok {
		return s.StartIn(ctx, req, v.rev)
	}
	at := req.Command.Workspace
	if at == "" { // where one is, or --dir says
		at = req.Command.Dir
	}
	want := worktree.Wanted{Rev: v.rev, Into: worktree.Name(req.IdempotencyKey)}
	inside, err := filepath.Rel(at, req.Command.Dir)
	if err == nil && (inside == ".." || strings.HasPrefix(inside, "../")) {
		err = paddock.Refused(paddock.InvalidRequest, "The directory %s isn't in the repository that the worktree is of, %s.", req.Command.Dir, at)
	}
	if err != nil {
		return paddock.Run{}, err
	}
	like := paddock.Request{Principal: req.Principal, Door: req.Door, Command: paddock.Command{Workspace: at, Label: "worktree of " + filepath.Base(at)}}
	if req.IdempotencyKey != "" {
		like.IdempotencyKey = req.IdempotencyKey + " worktree"
	}
	if err := worktree.Ready(ctx, v.Verbs, like, want, "Run it with --workspace "+filepath.Join(at, want.Into)+" when that run is over."); err != nil {
		return paddock.Run{}, err
	}
	req.Command.Workspace = filepath.Join(at, want.Into)
	req.Command.Dir = filepath.Join(req.Command.Workspace, inside)
	return v.Verbs.Start(ctx, req)
}
