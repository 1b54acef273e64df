package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/git"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
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
)

// gitTools are listed where the policy registers git.
func (s *session) gitTools() []tool {
	if !s.Git() {
		return nil
	}
	return []tool{
		gitTool[ask.GitLog](s, "git_log", "Commits of a repository", aboutGitLog),
		gitTool[ask.GitShow](s, "git_show", "One commit", aboutGitShow),
		gitTool[ask.GitDiff](s, "git_diff", "What differs", aboutGitDiff),
		gitTool[ask.GitBlame](s, "git_blame", "Where lines are from", aboutGitBlame),
		gitTool[ask.GitMergeBase](s, "git_merge_base", "The common ancestor", aboutGitMergeBase),
		gitTool[ask.GitListFiles](s, "git_ls_files", "Files that git tracks", aboutGitListFiles),
	}
}

func gitTool[In ask.Git](s *session, name, title, about string) tool {
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
