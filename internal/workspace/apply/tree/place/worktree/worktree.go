// Package worktree makes worktrees: each is a clone in a directory of the repository that it
// is of, made by runs like any other, under the policy. It says which there are, and tidies
// those that nobody needs any more.
//
// # Limits
//
// Whether somebody works in one is known by who asks. That a worktree has nothing of its
// own is what git says of it in a run; where the policy doesn't let git be asked, it stays.
package worktree

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"time"

	"paddock"
)

// Prefix is how directories begin that are made for a run.
const Prefix = "wt-"

// MakeTime is how long each run that makes one may take until it isn't waited for.
const MakeTime = 30 * time.Second

// House starts runs.
type House interface {
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
}

// Directory refuses what can't be the name of a directory that a clone makes: one that
// would be a flag, a path, hidden, or written differently elsewhere.
func Directory(name string) error {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	if name == "" || len(name) > 64 || !strings.Contains(first, name[:1]) || strings.Trim(name, first+"-_.") != "" {
		return paddock.Refused(paddock.InvalidRequest, "%.80q can't be a directory of a workspace; its name has at most 64 of a-z, 0-9, -, _ and dots, and begins with a letter or digit.", name)
	}
	return nil
}

// revision refuses what can be neither the name of a branch or tag nor the id of a commit.
func revision(rev string) error {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	if rev == "" || len(rev) > 200 || !strings.Contains(first, rev[:1]) || strings.Trim(rev, first+"-./+") != "" || strings.Contains(rev, "..") {
		return paddock.Refused(paddock.InvalidRequest, "%.100q is no branch, tag or id of a commit as it is wanted here: at most 200 letters, digits and -_./+, a letter or digit first.", rev)
	}
	return nil
}

// A Wanted is a worktree that somebody wants: at a branch or a tag, or at a commit by all
// digits of its id, since fewer could be a branch's name.
type Wanted struct{ Rev, Into string }

// Check refuses what can't be meant.
func (w Wanted) Check() error { return errors.Join(revision(w.Rev), Directory(w.Into)) }

// Commit reports whether Rev is the id of a commit.
func (w Wanted) Commit() bool {
	return (len(w.Rev) == 40 || len(w.Rev) == 64) && strings.Trim(w.Rev, "0123456789abcdef") == ""
}

// Name is a directory for a run's own worktree: the same for who asks again with his key.
func Name(key string) string {
	if key == "" {
		return Prefix + strings.ToLower(rand.Text()[:12])
	}
	sum := sha256.Sum256([]byte(key))
	return Prefix + hex.EncodeToString(sum[:6])
}

// A step is one run of several that make a worktree.
type step struct {
	key, dir string
	argv     []string
}

// steps are the runs. A branch or tag is cloned at once. A commit is looked for first, so
// that nothing is made for one that isn't there, since git before 2.49 clones no commits.
func (w Wanted) steps() []step {
	// Without hard links: else what runs in the worktree could write to the objects.
	if !w.Commit() {
		return []step{{"", "", []string{"git", "clone", "--quiet", "--no-hardlinks", "--branch", w.Rev, "--", ".", w.Into}}}
	}
	return []step{
		{" commit", "", []string{"git", "rev-parse", "--quiet", "--verify", "--end-of-options", w.Rev + "^{commit}"}},
		{" objects", "", []string{"git", "clone", "--quiet", "--no-hardlinks", "--no-checkout", "--", ".", w.Into}},
		{"", w.Into, []string{"git", "checkout", "--quiet", "--detach", w.Rev}},
	}
}

// Make starts what makes it in the repository at like.Command.Workspace, in the name and
// with the key, times and label of like. All runs but the last are waited for; the run that
// is returned is the last, or the one that it stopped at.
func Make(ctx context.Context, h House, like paddock.Request, w Wanted) (run paddock.Run, err error) {
	if err := w.Check(); err != nil {
		return run, err
	}
	key, top, all := like.IdempotencyKey, like.Command.Workspace, w.steps()
	for i, s := range all {
		if like.Command.Argv, like.Command.Dir = s.argv, path.Join(top, s.dir); key != "" {
			like.IdempotencyKey = key + s.key // is refused where that is too long
		}
		run, err = h.Start(ctx, like)
		if err == nil && i < len(all)-1 {
			run, err = h.Wait(ctx, like.Principal, run.ID, MakeTime)
		}
		if err != nil || i < len(all)-1 && !Well(run) {
			return run, err
		}
	}
	return run, nil
}

// Well reports whether a run's program said that all went well.
func Well(run paddock.Run) bool {
	return run.State == paddock.Exited && run.Outcome != nil && run.Outcome.Reason.ExitCode != nil && *run.Outcome.Reason.ExitCode == 0
}

// Ready is Make for who can't go on before it is there: it waits for the last run, too, and
// refuses what came to nothing. Again says what to do where one must ask again.
func Ready(ctx context.Context, h House, like paddock.Request, w Wanted, again string) error {
	run, err := Make(ctx, h, like, w)
	if err == nil && !run.State.Settled() {
		run, err = h.Wait(ctx, like.Principal, run.ID, MakeTime)
	}
	switch {
	case err != nil:
		return err
	case !run.State.Settled():
		r := paddock.Refused(paddock.Busy, "The worktree is still being made, by run %s.", run.ID)
		r.Hint = again
		return r
	case !Well(run):
		r := paddock.Refused(paddock.Conflict, "The worktree couldn't be made: run %s ended as %s.", run.ID, run.State)
		r.Hint = "Its output says why; a repository with that branch, tag or commit must be in the workspace."
		return r
	}
	return nil
}
