package runner

import (
	"context"

	"paddock"
	"paddock/internal/git"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
)

// Questions about a repository, for [Runner.Git]. Their fields are values, which
// never become flags of git.
type (
	// A GitLog asks for commits, newest first.
	GitLog = query.Log
	// A GitShow asks for one commit and what it changes.
	GitShow = query.Show
	// A GitDiff asks for what differs.
	GitDiff = query.Diff
	// A GitBlame asks which commit each line of a file is from.
	GitBlame = query.Blame
	// A GitMergeBase asks for the best common ancestor of two revisions.
	GitMergeBase = query.MergeBase
	// A GitListFiles asks for the files that git tracks.
	GitListFiles = query.ListFiles
	// A GitStatus asks what differs between HEAD, the index and the working tree.
	GitStatus = query.Status
	// A GitGrep asks for lines that match.
	GitGrep = query.Grep
	// A GitBranches asks for branches and tags.
	GitBranches = query.Branches
	// A GitCat asks for what a file holds at a commit.
	GitCat = query.Cat
	// A GitQuestion is one of these.
	GitQuestion = query.Query
	// A GitAnswer is what git says.
	GitAnswer = git.Answer
	// A GitCommit is a commit in it, a GitFile a file that differs.
	GitCommit = parse.Commit
	GitFile   = parse.File
	// A GitChange is a file that isn't as it is in HEAD, a GitMatch a line that was
	// found, a GitRef a branch or a tag, a GitContent what a file holds.
	GitChange  = present.Change
	GitMatch   = present.Match
	GitRef     = present.Ref
	GitContent = git.Content
)

// Git answers a question about a repository that needn't be trusted. Root is one
// of the git roots of the policy, as it is written there; empty is the first. All
// that git printed is kept as the output of the answer's Run.
func (r *Runner) Git(ctx context.Context, root string, q GitQuestion) (GitAnswer, error) {
	if q == nil {
		return GitAnswer{}, paddock.Refused(paddock.InvalidRequest, "There is no question.")
	}
	return r.app.Git(ctx, git.Ask{Principal: r.principal, Door: paddock.DoorGo, Tied: r.onClose == KillRuns, Root: root, Query: q})
}
