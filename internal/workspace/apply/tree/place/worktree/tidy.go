package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"paddock"
	"paddock/internal/workspace/apply/tree/place"
)

// RemoveTime is how long one removal may take; then one asks again, and it goes on.
const RemoveTime = 20 * time.Second

// TidyTime is how long tidying goes on to the next.
const TidyTime = 20 * time.Second

// askTime is how long one question to git may take.
const askTime = 10 * time.Second

// Rest is for how long a worktree is left alone by who tidies: between its making and the
// start of what it was made for it looks like one that is over.
const Rest = time.Hour

// A Place is the repository whose worktrees are meant: In is its path below Root, "." for
// Root itself.
type Place struct{ Root, In string }

func (p Place) dir() string { return path.Join(p.Root, p.In) }

// A Tree is a directory of a workspace that has a repository of its own.
type Tree struct {
	// Name is what a run's workspace is called to be there.
	Name string    `json:"name"`
	Made time.Time `json:"made_at"`
	// ForRun says that it was made for a run, so that tidying is about it.
	ForRun bool `json:"for_run"`
	// Run is one that is at work there.
	Run paddock.RunID `json:"run,omitempty"`
}

// A Listing are the worktrees of a workspace.
type Listing struct {
	Trees []Tree `json:"worktrees"`
	// More says that the directory has too many names to look at all.
	More bool `json:"more,omitempty"`
}

// Work looks which runs are at work now, and returns what says which of them is in a
// directory, if one is.
type Work func(ctx context.Context) (func(dir string) paddock.RunID, error)

// List says which worktrees there are; prefix is what comes before their directories' names.
func List(ctx context.Context, at Place, prefix string, work Work) (Listing, error) {
	l := Listing{Trees: []Tree{}}
	busy, err := work(ctx)
	if err != nil {
		return l, err
	}
	all, more, err := place.Holders(at.Root, at.In, ".git")
	for _, d := range all {
		if Directory(d.Name) != nil {
			continue // no clone made it, and no name leads there
		}
		l.Trees = append(l.Trees, Tree{prefix + d.Name, d.Made.UTC(), strings.HasPrefix(d.Name, Prefix), busy(path.Join(at.dir(), d.Name))})
	}
	l.More = more
	return l, err
}

// Remove removes one with all that is in it. It has an end of its own, and goes on with
// what an earlier one left.
func Remove(ctx context.Context, at Place, into string) error {
	if err := Directory(into); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, RemoveTime)
	defer cancel()
	err := place.RemoveIn(limited, at.Root, at.In, into, ".removed-"+into)
	if errors.Is(err, fs.ErrNotExist) {
		return paddock.Refused(paddock.NotFound, "There is no directory %s in that workspace.", into)
	}
	return Late(ctx, err)
}

// Late says of a removal that ran out of its own time that asking again goes on with it.
func Late(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	r := paddock.Refused(paddock.Busy, "There is more to be removed than can be in %s.", RemoveTime)
	r.Hint = "Ask again: it is gone from its name, and the removal goes on where it was."
	return r
}

// A Choice says which worktrees are tidied.
type Choice struct {
	// Changed has those removed, too, that have something of their own.
	Changed bool `json:"changed,omitempty"`
}

// A Tidied says what became of those that were made for runs.
type Tidied struct {
	Removed []string `json:"removed"`
	Left    []Left   `json:"left"`
	// More says that there was no time for all.
	More bool `json:"more,omitempty"`
}

// A Left is one that stays, and why.
type Left struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Next is what somebody can do about it, where that isn't to wait.
	Next string `json:"next,omitempty"`
}

// A reason is why one stays, and what can be done about it.
type reason struct{ why, next string }

// What can be done about worktrees that stay.
const (
	committed = "Commit what is wanted and fetch it into the repository, then remove the worktree by its name. If git shows as deleted only what other tools would execute or obey (.vscode, .gitmodules and the like), that went to the quarantine of a run, as it does in each worktree of such a repository, and is in the commit: nothing is lost."
	fetched   = "Fetch them into the repository, or remove the worktree by its name."
	unasked   = "Allow git these words in the policy, or remove the worktree by its name."
)

// Tidy removes worktrees that were made for a run, some time ago, in which nothing is at
// work, and, unless choice says otherwise, that have nothing of their own. Others stay, and
// are told. Like is whose runs ask git about them; now is the time.
func Tidy(ctx context.Context, h House, like paddock.Request, at Place, prefix string, work Work, choice Choice, now func() time.Time, removed func(into string) error) (Tidied, error) {
	out := Tidied{Removed: []string{}, Left: []Left{}}
	l, err := List(ctx, at, prefix, work)
	if err != nil {
		return out, err
	}
	end := now().Add(TidyTime)
	for _, t := range l.Trees {
		if !t.ForRun {
			continue
		}
		if !now().Before(end) {
			out.More = true
			break
		}
		into := strings.TrimPrefix(t.Name, prefix)
		left := reason{why: stays(t, now())}
		if left.why == "" && !choice.Changed {
			like.Command.Workspace = path.Join(at.dir(), into)
			left = own(ctx, h, like)
		}
		if left.why == "" { // what git was asked took its time
			busy, err := work(ctx)
			if err != nil {
				return out, err
			}
			t.Run = busy(path.Join(at.dir(), into))
			left = reason{why: stays(t, now())}
		}
		if left.why == "" {
			if err := errors.Join(removed(into), Remove(ctx, at, into)); err != nil {
				return out, err
			}
			out.Removed = append(out.Removed, t.Name)
			continue
		}
		out.Left = append(out.Left, Left{t.Name, left.why, left.next})
	}
	out.More = out.More || l.More
	return out, ctx.Err()
}

func stays(t Tree, now time.Time) string {
	switch {
	case t.Run != "":
		return "Run " + string(t.Run) + " is at work there."
	case now.Sub(t.Made) < Rest:
		return "It was made less than an hour ago."
	}
	return ""
}

// own says what a worktree has of its own, or that it can't be known: what isn't committed,
// or what is on no branch and no tag of the repository that it is of.
//
// Where its repository is is said, or git looks for one around a broken one, and answers
// for that.
func own(ctx context.Context, h House, like paddock.Request) reason {
	like.IdempotencyKey, like.Command.Dir = "", like.Command.Workspace
	for _, q := range []struct {
		reason
		argv []string
	}{
		{reason{"It has changes that aren't committed.", committed}, []string{"git", "--git-dir=.git", "--no-optional-locks", "status", "--porcelain"}},
		{reason{"It has commits of its own.", fetched}, []string{"git", "--git-dir=.git", "rev-list", "--max-count=1", "--all", "HEAD", "--not", "--remotes", "--tags"}},
	} {
		like.Command.Argv = q.argv
		run, err := h.Start(ctx, like)
		if err == nil && !run.State.Settled() {
			run, err = h.Wait(ctx, like.Principal, run.ID, askTime)
		}
		var refusal *paddock.Refusal
		switch {
		case errors.As(err, &refusal):
			return reason{"git can't be asked what it has of its own: " + refusal.Message, unasked}
		case err != nil:
			return reason{why: "git can't be asked what it has of its own."}
		case !Well(run):
			return reason{"git didn't say what it has of its own: run " + string(run.ID) + ".", "Look at what that run printed, or remove the worktree by its name."}
		case run.Outcome.Stdout.Bytes+run.Outcome.Stdout.Dropped > 0 || run.Outcome.Stdout.Unkept:
			return q.reason
		}
	}
	return reason{}
}
