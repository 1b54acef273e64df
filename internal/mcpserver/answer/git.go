package answer

import (
	"paddock/internal/git"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
)

// Git is what a git tool answers. Of the lists, the tool's own is there.
type Git struct {
	Root      string            `json:"root" jsonschema:"the repository"`
	OK        bool              `json:"ok" jsonschema:"git ended with status 0; false with notes is an answer too"`
	Notes     []string          `json:"notes,omitzero" jsonschema:"why there is nothing, or what is missing"`
	Branch    string            `json:"branch,omitzero" jsonschema:"what HEAD stands for"`
	Detached  bool              `json:"detached,omitzero" jsonschema:"HEAD stands for no branch"`
	Bare      bool              `json:"bare,omitzero" jsonschema:"there is no working tree"`
	Revisions []git.Revision    `json:"revisions,omitzero" jsonschema:"what each name stood for; give the id to go on with the same"`
	Commits   []parse.Commit    `json:"commits,omitzero"`
	Files     []parse.File      `json:"files,omitzero"`
	Lines     []parse.Line      `json:"lines,omitzero"`
	Entries   []parse.Entry     `json:"entries,omitzero"`
	Base      string            `json:"base,omitzero" jsonschema:"the common ancestor"`
	Head      string            `json:"head,omitzero" jsonschema:"the commit that is checked out"`
	Upstream  *present.Upstream `json:"upstream,omitzero" jsonschema:"what the branch follows"`
	Changes   []present.Change  `json:"changes,omitzero"`
	Matches   []present.Match   `json:"matches,omitzero"`
	Counts    []present.Count   `json:"counts,omitzero"`
	Refs      []present.Ref     `json:"refs,omitzero"`
	Content   *git.Content      `json:"content,omitzero"`
	More      bool              `json:"more,omitzero" jsonschema:"the lists are cut; retrieve_context has the rest"`
	Next      int               `json:"next,omitzero" jsonschema:"skip with which the next commits come"`

	TaskID        string   `json:"taskId,omitzero" jsonschema:"all that git printed is the output of this task"`
	ArtifactID    string   `json:"artifactId,omitzero" jsonschema:"the same for retrieve_context"`
	State         string   `json:"state,omitzero"`
	ExitCode      *int     `json:"exitCode,omitzero"`
	Argv          []string `json:"argv,omitzero" jsonschema:"what git was asked, without the settings that make it safe"`
	Preview       string   `json:"preview,omitzero" jsonschema:"the beginning of what git printed, at most 2000 characters"`
	StdoutBytes   int64    `json:"stdoutBytes,omitzero"`
	StderrPreview string   `json:"stderrPreview,omitzero"`
	ReadBack      string   `json:"readBack,omitzero" jsonschema:"how to read all of it"`
}

// NewGit puts an answer into the words of this door.
func NewGit(a git.Answer) Git {
	g := Git{
		Root: a.Root, OK: a.OK, Notes: a.Notes, Branch: a.Branch, Detached: a.Detached, Bare: a.Bare, Revisions: a.Revisions,
		Commits: a.Commits, Files: a.Files, Lines: a.Lines, Entries: a.Entries, Base: a.Base,
		Head: a.Head, Upstream: a.Upstream, Changes: a.Changes, Matches: a.Matches, Counts: a.Counts, Refs: a.Refs, Content: a.Content, More: a.More, Next: a.Next,
		TaskID: string(a.Run), ArtifactID: string(a.Run), State: string(a.State), ExitCode: a.ExitCode, Argv: a.Command, Preview: a.Preview, StdoutBytes: a.Bytes, StderrPreview: a.Stderr,
	}
	switch c := a.Content; {
	case a.Tool == "cat" && c != nil && c.Encoding != "" && !c.EOF:
		g.ReadBack = "git_cat once more, with content.next as the offset"
	case a.Tool == "cat": // the task's output has more than the file
	case a.Bytes > 0:
		g.ReadBack = "retrieve_context with this artifactId; a hunk's offset and length are an offset and a limit there"
	}
	return g
}
