package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/git"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask/repos"
)

// gitWait is how long a call waits for git: less than clients wait.
const gitWait = 40 * time.Second

const (
	aboutGitLog       = `Commits, newest first, as structured data. Paths are literal, dates and revisions plain values; nothing is a flag. Go on with skip set to next. Nothing of the repository is run and nothing is changed.`
	aboutGitShow      = `One commit: its message, the files that it changes and where (hunks are byte ranges of the task's output, which has the patch). A merge is compared with its first parent.`
	aboutGitDiff      = `What differs: base and head two commits; base alone, that commit and the working tree; neither, the index and the working tree. Untracked files aren't shown. Hunks are byte ranges of the task's output, which has the patch.`
	aboutGitBlame     = `Which commit each line of a file is from, as of a commit (HEAD unless ref is given).`
	aboutGitMergeBase = `The best common ancestor of two revisions, or a note that there is none.`
	aboutGitListFiles = `The files that git tracks, by the index.`
	aboutGitStatus    = `What differs between HEAD, the index and the working tree: staged, unstaged, untracked, renamed and conflicting files; the branch, and how far it is from what it follows, as far as that is known here. Nothing is fetched or written.`
	aboutGitGrep      = `Lines that match, in a commit (ref) or in the tracked files of the working tree, with path, number and column. Binary files aren't searched.`
	aboutGitBranches  = `Branches and tags, newest first: what each stands for, its date and subject, and what a branch follows.`
	aboutGitCat       = `What a file holds at a commit (HEAD unless ref is given), by bytes or lines; go on with offset set to next. Says if it is binary, a link, a submodule, a directory or a pointer of Git LFS. What isn't UTF-8 is base64.`
)

// gitTools are listed where the policy registers git.
func (s *session) gitTools() []tool {
	if !s.Git() {
		return nil
	}
	return []tool{
		gitTool[repos.Log](s, "git_log", "Commits of a repository", aboutGitLog),
		gitTool[repos.Show](s, "git_show", "One commit", aboutGitShow),
		gitTool[repos.Diff](s, "git_diff", "What differs", aboutGitDiff),
		gitTool[repos.Blame](s, "git_blame", "Where lines are from", aboutGitBlame),
		gitTool[repos.MergeBase](s, "git_merge_base", "The common ancestor", aboutGitMergeBase),
		gitTool[repos.ListFiles](s, "git_ls_files", "Files that git tracks", aboutGitListFiles),
		gitTool[repos.Status](s, "git_status", "State of the working tree", aboutGitStatus),
		gitTool[repos.Grep](s, "git_grep", "Search in files", aboutGitGrep),
		gitTool[repos.Branches](s, "git_branches", "Branches and tags", aboutGitBranches),
		gitTool[repos.Cat](s, "git_cat", "What a file holds at a commit", aboutGitCat),
	}
}

func gitTool[In repos.Git](s *session, name, title, about string) tool {
	no := false
	return newTool(s, mcp.Tool{
		Name: name, Title: title, Description: about,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
	}, func(s *session, ctx context.Context, _ call, in In) (answer.Git, error) {
		root, q := in.Question()
		a, err := s.App.Git(ctx, git.Ask{Principal: s.Principal, Door: paddock.DoorMCP, Tied: s.OnDisconnect == Kill, Root: root, Query: q, Wait: gitWait})
		return answer.NewGit(a), err
	})
}
