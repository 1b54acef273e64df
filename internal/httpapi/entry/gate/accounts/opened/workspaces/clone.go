package workspaces

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
	"paddock/internal/workspace/apply/tree/place"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// initTime is how long making an empty repository may take until it isn't waited for.
const initTime = 30 * time.Second

// clone brings a repository into a workspace: by two runs, of which the first makes an
// empty one and is waited for. git's own clone wants a directory with nothing in it at all,
// and at full a root has what keeps places from being made. The answer is the run that
// fetches, or the first if that is how far it came. Where there is a repository already,
// as after an address that was wrong, there is only the second.
func (s *Workspaces) clone(ctx context.Context, c *entry.Call, name, key string, n Clone) (paddock.Run, error) {
	tree, err := n.check()
	if err != nil {
		return paddock.Run{}, err
	}
	w, err := s.usable(ctx, c.Caller, name)
	if err != nil {
		return paddock.Run{}, err
	}
	like := paddock.Request{
		Principal: c.Caller.Self(), Door: paddock.DoorHTTP, IdempotencyKey: key,
		Command: paddock.Command{Workspace: where(w), Timeout: n.Timeout},
	}
	told := func(run paddock.Run, err error) (paddock.Run, error) {
		if err == nil {
			c.Note().Run = run.ID
			c.Header().Set("Location", "/api/v1/runs/"+string(run.ID))
		}
		return run, err
	}
	start := func(key, label string, argv ...string) (paddock.Run, error) {
		like.IdempotencyKey, like.Command.Argv, like.Command.Label = key, argv, label
		return told(s.House.Start(ctx, like))
	}
	if tree != nil {
		like.Command.Label = "clone into " + name + "/" + n.Into
		return told(worktree.Make(ctx, s.House, like, *tree))
	}
	if n.Into != "" {
		return start(key, "clone into "+name+"/"+n.Into, "git", "clone", "--quiet", "--", n.URL, n.Into)
	}
	begun, err := place.Holds(w.Root, w.Path, ".git")
	if err != nil {
		return paddock.Run{}, fmt.Errorf("workspace %s: %w", w.ID, err)
	}
	if begun { // and nothing may be written there that git init writes
		return start(key, "clone into "+name, "git", "pull", "--ff-only", "--", n.URL)
	}
	first := key
	if key != "" {
		first += " init" // is refused where that is too long
	}
	run, err := start(first, "a repository in "+name, "git", "init", "--quiet", ".")
	if err == nil {
		run, err = s.House.Wait(ctx, c.Caller.Self(), run.ID, initTime)
	}
	if err != nil || !worktree.Well(run) {
		return run, err
	}
	return start(key, "clone into "+name, "git", "pull", "--ff-only", "--", n.URL)
}

// Worktree makes one by a run of its own, which is waited for: see [narrow.Workspaces].
func (s *Workspaces) Worktree(ctx context.Context, c gate.Caller, name, rev, key string) (string, error) {
	if strings.Contains(name, "/") || rev == "" {
		return "", paddock.Refused(paddock.InvalidRequest, "A worktree is of a workspace and not of a directory in it, and has a rev, a branch, a tag or the whole id of a commit.")
	}
	want, once := worktree.Wanted{Rev: rev, Into: worktree.Name(key)}, ""
	if key != "" { // the same for who asks again
		once = key + " worktree"
	}
	if err := want.Check(); err != nil {
		return "", err
	}
	if err := c.Who.May(auth.WorkspacesClone, auth.Mine); err != nil {
		return "", err
	}
	w, err := s.usable(ctx, c, name)
	if err != nil {
		return "", err
	}
	err = worktree.Ready(ctx, s.House, paddock.Request{
		Principal: c.Self(), Door: paddock.DoorHTTP, IdempotencyKey: once, Command: paddock.Command{Workspace: where(w), Label: "worktree of " + name},
	}, want, "Ask again with the same Idempotency-Key; without one, run it in workspace "+name+"/"+want.Into+" when that run is over.")
	return name + "/" + want.Into, err
}

// trees is where the worktrees of w are.
func trees(w store.Workspace) worktree.Place { return worktree.Place{Root: w.Root, In: w.Path} }

// work looks which runs are at work that have to do with worktrees of w: there, in the
// whole workspace, or on another machine, in whichever directory.
func (s *Workspaces) work(w store.Workspace) worktree.Work {
	return func(ctx context.Context) (func(string) paddock.RunID, error) {
		var all []paddock.Run
		there := s.there(w)
		_, err := s.busy(ctx, func(r paddock.Run) bool {
			if there(r) {
				all = append(all, r)
			}
			return false
		})
		return func(dir string) paddock.RunID {
			for _, r := range all {
				if r.Workspace == "" || r.Workspace == where(w) || within(r, dir) {
					return r.ID
				}
			}
			return ""
		}, err
	}
}

// listBelow says which worktrees there are in a workspace.
func (s *Workspaces) listBelow(ctx context.Context, who auth.Who, name string) (worktree.Listing, error) {
	w, err := s.find(ctx, who, auth.WorkspacesRead, name)
	if err != nil {
		return worktree.Listing{}, err
	}
	return worktree.List(ctx, trees(w), name+"/", s.work(w))
}

// Worktrees says which there are, to who may know: see [narrow.Workspaces].
func (s *Workspaces) Worktrees(ctx context.Context, c gate.Caller, name string) (worktree.Listing, error) {
	if err := c.Who.May(auth.WorkspacesRead, auth.Mine); err != nil {
		return worktree.Listing{}, err
	}
	return s.listBelow(ctx, c.Who, name)
}

// RemoveWorktree removes one: see [narrow.Workspaces].
func (s *Workspaces) RemoveWorktree(ctx context.Context, c gate.Caller, name string) error {
	workspace, into, _ := strings.Cut(name, "/")
	return s.removeBelow(ctx, c.Who, workspace, into)
}

// tidyBelow removes worktrees of a workspace that nobody needs any more: see [worktree.Tidy].
// It asks git by runs of the caller's, so who may have no run has nothing tidied.
func (s *Workspaces) tidyBelow(ctx context.Context, c gate.Caller, name string, choice worktree.Choice) (worktree.Tidied, error) {
	w, err := s.find(ctx, c.Who, auth.WorkspacesRemove, name)
	if err != nil {
		return worktree.Tidied{}, err
	}
	for _, v := range []auth.Verb{auth.WorkspacesRemove, auth.WorkspacesClone} {
		if err := c.Who.May(v, c.Who.Whose(w.Owner)); err != nil {
			return worktree.Tidied{}, err
		}
	}
	like := paddock.Request{Principal: c.Self(), Door: paddock.DoorHTTP, Command: paddock.Command{Label: "tidying " + name}}
	return worktree.Tidy(ctx, s.House, like, trees(w), name+"/", s.work(w), choice, s.Now, func(into string) error {
		return s.record(ctx, c.Who, auth.WorkspaceRemoved, w.ID+"/"+store.WorkspaceID(into))
	})
}

// removeBelow takes away a directory that a clone made in a workspace, unless something
// runs there. Nothing that is called otherwise can be meant.
func (s *Workspaces) removeBelow(ctx context.Context, who auth.Who, name, into string) error {
	if err := worktree.Directory(into); err != nil {
		return err
	}
	w, err := s.find(ctx, who, auth.WorkspacesRemove, name)
	if err != nil {
		return err
	}
	if err := who.May(auth.WorkspacesRemove, who.Whose(w.Owner)); err != nil {
		return err
	}
	busy, err := s.work(w)(ctx)
	if err != nil {
		return err
	}
	if run := busy(path.Join(where(w), into)); run != "" {
		r := paddock.Refused(paddock.Conflict, "Run %s is at work there.", run)
		r.Hint = "End it first."
		return r
	}
	if err := s.record(ctx, who, auth.WorkspaceRemoved, w.ID+"/"+store.WorkspaceID(into)); err != nil {
		return err
	}
	if err := worktree.Remove(ctx, trees(w), into); err != nil {
		return fmt.Errorf("workspace %s: %w", w.ID, err)
	}
	return nil
}
