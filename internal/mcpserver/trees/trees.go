// Package trees has the tools for worktrees: what models are told of them, what they take
// and answer, and which verb each asks.
//
// # Limits
//
// What can be the name of a workspace, a directory or a revision is for the verbs to say.
package trees

import (
	"context"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// most is the longest word of an input, in characters.
const most = 200

// Trees are the worktrees of workspaces, as far as the principal has any.
type Trees interface {
	// Make makes one of a workspace's repository at rev, and says by what name a command
	// runs there. Asking again with the same key, if any, finds the same.
	Make(ctx context.Context, workspace, rev, key string) (string, error)
	List(ctx context.Context, workspace string) (worktree.Listing, error)
	// Remove takes one away, by the name by which a command runs there.
	Remove(ctx context.Context, name string) error
}

// MakeTool is what clients are told of worktree_create.
func MakeTool() mcp.Tool {
	no := false
	return mcp.Tool{
		Name: "worktree_create", Title: "Make a worktree", Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
		Description: `Make a worktree: a clone of a workspace's own repository at a branch, a tag or the whole id of a commit, in a directory of the workspace. Returns the name to give as workspace to run_command_bg; what runs there sees nothing else. It stays until somebody removes it. With idempotencyKey, asking again returns the same one.`,
	}
}

// ListTool is what they are told of worktree_list.
func ListTool() mcp.Tool {
	no := false
	return mcp.Tool{
		Name: "worktree_list", Title: "List worktrees", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		Description: `The worktrees of a workspace: directories in it that have a repository of their own, by the name to give as workspace, with the task that is at work there, if one is.`,
	}
}

// RemoveTool is what they are told of worktree_remove.
func RemoveTool() mcp.Tool {
	yes, no := true, false
	return mcp.Tool{
		Name: "worktree_remove", Title: "Remove a worktree", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
		Description: `Take a worktree away, with all that is in it, also what isn't committed. Refused while something runs there or in the whole workspace. One that is large takes a while: busy says to ask again.`,
	}
}

// DoMake is worktree_create. What was begun is done, also when the client goes.
func DoMake(ctx context.Context, t Trees, in Make) (Made, error) {
	name, err := t.Make(context.WithoutCancel(ctx), in.Workspace, in.Rev, in.IdempotencyKey)
	return Made{Workspace: name}, err
}

// DoList is worktree_list.
func DoList(ctx context.Context, t Trees, in List) (Listing, error) {
	l, err := t.List(ctx, in.Workspace)
	return newListing(l), err
}

// DoRemove is worktree_remove.
func DoRemove(ctx context.Context, t Trees, in Remove) (Removed, error) {
	return Removed{Removed: in.Worktree}, t.Remove(ctx, in.Worktree)
}

// Make is the input of worktree_create.
type Make struct {
	Workspace      string `json:"workspace" jsonschema:"name of the workspace whose repository it is of"`
	Rev            string `json:"rev" jsonschema:"a branch, a tag, or the whole id of a commit"`
	IdempotencyKey string `json:"idempotencyKey,omitzero" jsonschema:"asking again with the same key returns the same worktree"`
}

// List is the input of worktree_list.
type List struct {
	Workspace string `json:"workspace" jsonschema:"name of the workspace"`
}

// Remove is the input of worktree_remove.
type Remove struct {
	Worktree string `json:"worktree" jsonschema:"its name, WORKSPACE/DIRECTORY, as worktree_list has it"`
}

// Made is the result of worktree_create.
type Made struct {
	Workspace string `json:"workspace" jsonschema:"give this as workspace to run_command_bg"`
}

// A Listing is the result of worktree_list.
type Listing struct {
	Worktrees []Tree `json:"worktrees"`
	More      bool   `json:"more,omitzero" jsonschema:"there are too many directories to look at all"`
}

// A Tree is one worktree.
type Tree struct {
	Workspace string        `json:"workspace" jsonschema:"its name: give this as workspace to run_command_bg"`
	MadeAt    time.Time     `json:"madeAt"`
	ForTask   bool          `json:"forTask" jsonschema:"it was made for one task, or by worktree_create, so that tidying is about it"`
	TaskID    paddock.RunID `json:"taskId,omitzero" jsonschema:"a task that is at work there"`
}

// Removed is the result of worktree_remove.
type Removed struct {
	Removed string `json:"removed"`
}

// newListing shows worktrees.
func newListing(l worktree.Listing) Listing {
	out := Listing{Worktrees: []Tree{}, More: l.More}
	for _, t := range l.Trees {
		out.Worktrees = append(out.Worktrees, Tree{t.Name, t.Made, t.ForRun, t.Run})
	}
	return out
}

func bound(p map[string]*jsonschema.Schema, names ...string) {
	least, longest := 1, most
	for _, name := range names {
		p[name].MinLength, p[name].MaxLength = &least, &longest
	}
}

func (Make) Bounds(p map[string]*jsonschema.Schema)   { bound(p, "workspace", "rev") }
func (List) Bounds(p map[string]*jsonschema.Schema)   { bound(p, "workspace") }
func (Remove) Bounds(p map[string]*jsonschema.Schema) { bound(p, "worktree") }

// word refuses what can't be one.
func word(name, text string) error {
	switch {
	case text == "":
		return paddock.Refused(paddock.InvalidRequest, "%s is missing or empty", name)
	case len([]rune(text)) > most:
		return paddock.Refused(paddock.InvalidRequest, "%s has more than %d characters", name, most)
	case strings.ContainsRune(text, 0):
		return paddock.Refused(paddock.InvalidRequest, "%s contains a NUL character", name)
	}
	return nil
}

func (in Make) Check() error {
	if err := word("workspace", in.Workspace); err != nil {
		return err
	}
	if strings.ContainsRune(in.IdempotencyKey, 0) {
		return word("idempotencyKey", in.IdempotencyKey)
	}
	return word("rev", in.Rev)
}

func (in List) Check() error { return word("workspace", in.Workspace) }

func (in Remove) Check() error {
	if err := word("worktree", in.Worktree); err != nil {
		return err
	}
	if before, after, ok := strings.Cut(in.Worktree, "/"); !ok || before == "" || after == "" {
		return paddock.Refused(paddock.InvalidRequest, "worktree is %.80q; want WORKSPACE/DIRECTORY, as worktree_list has it", in.Worktree)
	}
	return nil
}
