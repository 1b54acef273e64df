package workspaces

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
	"paddock/internal/workspace/apply/tree/place"
)

// initTime is how long making an empty repository may take until it isn't waited for.
const initTime = 30 * time.Second

// clone brings a repository into a workspace: by two runs, of which the first makes an
// empty one and is waited for. git's own clone wants a directory with nothing in it at all,
// and at full a root has what keeps places from being made. The answer is the run that
// fetches, or the first if that is how far it came. Where there is a repository already,
// as after an address that was wrong, there is only the second.
func (s *Workspaces) clone(ctx context.Context, c *entry.Call, name, key string, n Clone) (paddock.Run, error) {
	once, err := n.place()
	if err != nil {
		return paddock.Run{}, err
	}
	w, err := s.usable(ctx, c.Caller, name)
	if err != nil {
		return paddock.Run{}, err
	}
	dir := where(w)
	start := func(key, label string, argv ...string) (paddock.Run, error) {
		run, err := s.House.Start(ctx, paddock.Request{
			Principal: c.Caller.Self(), Door: paddock.DoorHTTP, IdempotencyKey: key,
			Command: paddock.Command{Argv: argv, Workspace: dir, Timeout: n.Timeout, Label: label},
		})
		if err == nil {
			c.Note().Run = run.ID
			c.Header().Set("Location", "/api/v1/runs/"+string(run.ID))
		}
		return run, err
	}
	if once != nil {
		return start(key, "clone into "+name+"/"+n.Into, once...)
	}
	owner, last := path.Split(w.Path)
	begun, err := place.Holds(w.Root, path.Clean(owner), last, ".git")
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
	if err != nil || run.State != paddock.Exited || run.Outcome == nil || run.Outcome.Reason.ExitCode == nil || *run.Outcome.Reason.ExitCode != 0 {
		return run, err
	}
	return start(key, "clone into "+name, "git", "pull", "--ff-only", "--", n.URL)
}

// Worktree makes one by a run of its own, which is waited for: see [narrow.Workspaces].
func (s *Workspaces) Worktree(ctx context.Context, c gate.Caller, name, rev, key string) (string, error) {
	if strings.Contains(name, "/") || rev == "" {
		return "", paddock.Refused(paddock.InvalidRequest, "A worktree is of a workspace and not of a directory in it, and has a rev, a branch or tag.")
	}
	into := worktreePrefix + strings.ToLower(rand.Text()[:12])
	once := ""
	if key != "" { // the same for who asks again
		sum := sha256.Sum256([]byte(key))
		into, once = worktreePrefix+hex.EncodeToString(sum[:6]), key+" worktree"
	}
	argv, err := Clone{Rev: rev, Into: into}.place()
	if err != nil {
		return "", err
	}
	if err := c.Who.May(auth.WorkspacesClone, auth.Mine); err != nil {
		return "", err
	}
	w, err := s.usable(ctx, c, name)
	if err != nil {
		return "", err
	}
	run, err := s.House.Start(ctx, paddock.Request{
		Principal: c.Self(), Door: paddock.DoorHTTP, IdempotencyKey: once, Command: paddock.Command{Argv: argv, Workspace: where(w), Label: "worktree of " + name},
	})
	if err == nil {
		run, err = s.House.Wait(ctx, c.Self(), run.ID, initTime)
	}
	switch {
	case err != nil:
		return "", err
	case !run.State.Settled():
		r := paddock.Refused(paddock.Busy, "The worktree is still being made, by run %s.", run.ID)
		r.Hint = "Ask again with the same Idempotency-Key; without one, run it in workspace " + name + "/" + into + " when that run is over."
		return "", r
	case run.State != paddock.Exited || run.Outcome == nil || run.Outcome.Reason.ExitCode == nil || *run.Outcome.Reason.ExitCode != 0:
		r := paddock.Refused(paddock.Conflict, "The worktree couldn't be made: run %s ended as %s.", run.ID, run.State)
		r.Hint = "Its output says why; a repository with that branch or tag must be in the workspace."
		return "", r
	}
	return name + "/" + into, nil
}

// worktreePrefix is how directories begin that are made for a run.
const worktreePrefix = "wt-"

// removeBelow takes away a directory that a clone made in a workspace, unless something
// runs there. Nothing that is called otherwise can be meant.
func (s *Workspaces) removeBelow(ctx context.Context, who auth.Who, name, into string) error {
	if err := directory(into); err != nil {
		return err
	}
	w, err := s.find(ctx, who, auth.WorkspacesRemove, name)
	if err != nil {
		return err
	}
	if err := who.May(auth.WorkspacesRemove, who.Whose(w.Owner)); err != nil {
		return err
	}
	dir := path.Join(where(w), into)
	there := s.there(w)
	busy, err := s.busy(ctx, func(r paddock.Run) bool {
		elsewhere := r.Workspace == "" && there(r) // on another machine, in whichever directory
		return elsewhere || r.Workspace == where(w) || within(r, dir)
	})
	if err != nil {
		return err
	}
	if busy != "" {
		r := paddock.Refused(paddock.Conflict, "Run %s is at work there.", busy)
		r.Hint = "End it first."
		return r
	}
	if err := s.record(ctx, who, auth.WorkspaceRemoved, w.ID+"/"+store.WorkspaceID(into)); err != nil {
		return err
	}
	owner, last := path.Split(w.Path)
	switch err := place.RemoveIn(w.Root, path.Clean(owner), last, into, ".removed-"+into); {
	case errors.Is(err, fs.ErrNotExist):
		return paddock.Refused(paddock.NotFound, "There is no directory %s in that workspace.", into)
	case err != nil:
		return fmt.Errorf("workspace %s: %w", w.ID, err)
	}
	return nil
}
