package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/git"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask/repos"
	"paddock/internal/mcpserver/texts"
)

// gitWait is how long a call waits for git: less than clients wait.
const gitWait = 40 * time.Second

// gitTools are listed where the policy registers git.
func (s *session) gitTools() []tool {
	if !s.Git() {
		return nil
	}
	return []tool{
		gitTool[repos.Log](s, "git_log", "Commits of a repository", texts.GitLog),
		gitTool[repos.Show](s, "git_show", "One commit", texts.GitShow),
		gitTool[repos.Diff](s, "git_diff", "What differs", texts.GitDiff),
		gitTool[repos.Blame](s, "git_blame", "Where lines are from", texts.GitBlame),
		gitTool[repos.MergeBase](s, "git_merge_base", "The common ancestor", texts.GitMergeBase),
		gitTool[repos.ListFiles](s, "git_ls_files", "Files that git tracks", texts.GitListFiles),
		gitTool[repos.Status](s, "git_status", "State of the working tree", texts.GitStatus),
		gitTool[repos.Grep](s, "git_grep", "Search in files", texts.GitGrep),
		gitTool[repos.Branches](s, "git_branches", "Branches and tags", texts.GitBranches),
		gitTool[repos.Cat](s, "git_cat", "What a file holds at a commit", texts.GitCat),
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
