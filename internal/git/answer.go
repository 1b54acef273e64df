package git

import (
	"fmt"
	"strings"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/parse/printed"
	"paddock/internal/git/query"
	"paddock/internal/git/query/below"
	"paddock/internal/git/repository"
)

// A Revision is what a name stood for when it was asked for.
type Revision struct {
	Ref string `json:"ref"`
	ID  string `json:"id"`
}

// An Answer is what git says. Of the lists, the one of the tool is there.
type Answer struct {
	Tool string `json:"tool"`
	Root string `json:"root"`
	// OK is set when git ended by itself with status 0.
	OK bool `json:"ok"`
	// Notes say what a reader must know: why there is nothing, what is missing.
	Notes []string `json:"notes,omitzero"`
	// Branch is what HEAD stands for; empty when it is detached or unknown.
	Branch   string `json:"branch,omitzero"`
	Detached bool   `json:"detached,omitzero"`
	Bare     bool   `json:"bare,omitzero"`
	Shallow  bool   `json:"shallow,omitzero"`
	Partial  bool   `json:"partial,omitzero"`

	Revisions []Revision `json:"revisions,omitzero"`

	Commits []parse.Commit `json:"commits,omitzero"`
	Files   []parse.File   `json:"files,omitzero"`
	Lines   []parse.Line   `json:"lines,omitzero"`
	Entries []parse.Entry  `json:"entries,omitzero"`
	// Base is the common ancestor.
	Base string `json:"base,omitzero"`
	// Head is the commit that is checked out, Upstream what its branch follows, and
	// Changes what isn't as it is there.
	Head     string            `json:"head,omitzero"`
	Upstream *present.Upstream `json:"upstream,omitzero"`
	Changes  []present.Change  `json:"changes,omitzero"`
	Matches  []present.Match   `json:"matches,omitzero"`
	Counts   []present.Count   `json:"counts,omitzero"`
	Refs     []present.Ref     `json:"refs,omitzero"`
	// Content is what a path has at a revision.
	Content *Content `json:"content,omitzero"`
	// More is set when the lists are cut; Next is the skip that goes on.
	More bool `json:"more,omitzero"`
	Next int  `json:"next,omitzero"`

	// Run is the run of the command, with all that git printed; empty where none
	// was needed.
	Run      paddock.RunID `json:"run,omitzero"`
	State    paddock.State `json:"state,omitzero"`
	ExitCode *int          `json:"exit_code,omitzero"`
	// Command is what git was asked, without the settings before it, which the
	// run's record has.
	Command []string `json:"command,omitzero"`
	// Preview is the beginning of what git printed, Stderr that of its complaints.
	Preview string `json:"preview,omitzero"`
	Bytes   int64  `json:"bytes,omitzero"`
	Stderr  string `json:"stderr,omitzero"`
}

func newAnswer(q query.Query, l repository.Look) Answer {
	a := Answer{Tool: q.Tool(), Root: l.Root, Branch: strings.ToValidUTF8(l.Branch, "\uFFFD"), Detached: l.Detached, Bare: l.Bare, Shallow: l.Shallow, Partial: l.Partial}
	if l.Shallow {
		a = a.said("The repository is a shallow clone: its history ends where it was cut.")
	}
	if l.Partial {
		a = a.said("The repository is a partial clone: objects that aren't there are never fetched, so git may fail for want of them.")
	}
	if l.Prefix != "" {
		a = a.said("The root is the directory %q of a repository: what is told is what lies there, and the commits that touch it.", l.Prefix)
	}
	return a
}

func (a Answer) said(format string, args ...any) Answer {
	a.Notes = append(a.Notes, fmt.Sprintf(format, args...))
	return a
}

// of notes the run, whose command ends in args.
func (a *Answer) of(run paddock.Run, args []string) {
	a.Run, a.State, a.Bytes = run.ID, run.State, run.Stdout.Bytes
	a.Command = append([]string{"git"}, args...)
	if status, ok := parse.Exited(run); ok {
		a.ExitCode, a.OK = &status, status == 0
	}
}

// fill reads what git printed of ids.
func (a *Answer) fill(q query.Query, ids []string, run paddock.Run, stdout, stderr []byte, cut bool) {
	a.Preview = parse.Visible(stdout, mostPreview)
	cut = a.ended(q, run, stderr) || cut
	if a.ExitCode != nil && *a.ExitCode != 0 {
		return
	}
	if err := a.lists(q, ids, stdout, cut); err != nil {
		*a = a.said("What git printed can't be read into lists (%v); the output has all of it.", err)
		a.More = true
	}
	if _, few := q.(query.Branches); a.More && !few && (cut || a.Next == 0) {
		*a = a.said("The lists here are cut; the output of the run has the rest.")
	}
}

// ended says how git ended, where that isn't the usual, and whether its output may
// end too early.
func (a *Answer) ended(q query.Query, run paddock.Run, stderr []byte) (cut bool) {
	a.Stderr = parse.Visible(stderr, mostStderr)
	switch run.State {
	case paddock.Exited:
	case paddock.OutputLimit:
		if q.Tool() == "cat" { // of which it is said how much of the file there is
			break
		}
		*a = a.said("Git printed more than the %d bytes that are kept; ask for less: a path, fewer commits, names only.", run.Limits.Output)
	default:
		*a = a.said("%s.", printed.Ended(run))
		cut = true
	}
	if why := query.Failure(q, a.ExitCode, string(stderr)); why != "" {
		*a = a.said("%s", why)
	}
	return cut
}

func (a *Answer) lists(q query.Query, ids []string, stdout []byte, cut bool) (err error) {
	switch q := q.(type) {
	case query.Log:
		a.Commits, a.More, err = parse.Commits(stdout, cut)
		if n := len(a.Commits); err == nil && n == q.Most() {
			a.Next = q.Skip + n
		} else if err == nil && n == 0 && !cut {
			*a = a.said("No commit is there: none touches the path, is in the time asked for, or is by the author.")
		}
	case query.Show:
		a.Commits, a.More, err = parse.Commits(stdout, cut)
		if err == nil && len(a.Commits) == 0 && !cut { // of a root below a repository's top
			*a = a.said("The commit changes nothing there, so nothing is told of it.")
		}
	case query.Diff:
		a.Files, a.More, err = parse.Files(stdout, cut)
		if err == nil && len(a.Files) == 0 && !cut {
			*a = a.said("Nothing differs.")
		}
	case query.Blame:
		a.Lines, a.More, err = parse.Lines(stdout, cut)
	case query.ListFiles:
		a.Entries, a.More, err = parse.Entries(stdout, cut)
		if err == nil && len(a.Entries) == 0 && !cut {
			*a = a.said("The index has no such file.")
		}
	case query.MergeBase:
		a.Base, err = parse.ID(stdout)
	default:
		return a.found(q, ids, stdout, cut)
	}
	return err
}

// from has the paths that git tells from the repository's top as they are from the root,
// which lies at prefix.
func (a *Answer) from(prefix string) {
	for i := range a.Lines {
		a.Lines[i].Path = below.Name(prefix, a.Lines[i].Path)
	}
	for i := range a.Changes {
		a.Changes[i].Below(prefix)
	}
}

// found are the lists of what isn't history.
func (a *Answer) found(q query.Query, ids []string, stdout []byte, cut bool) (err error) {
	switch q := q.(type) {
	case query.Status:
		var s present.State
		if s, a.More, err = present.Status(stdout, cut); err != nil {
			return err
		}
		a.Head, a.Branch, a.Detached, a.Upstream, a.Changes = s.Head, s.Branch, s.Detached, s.Upstream, s.Changes
		if s.Head == "" && !cut {
			*a = a.said("The branch has no commit yet.")
		}
		if s.Upstream != nil && s.Upstream.Ahead == nil && s.Head != "" && !cut {
			*a = a.said("What the branch follows isn't known here; nothing is fetched to find out.")
		}
		if len(s.Changes) == 0 && !cut {
			*a = a.said("Nothing has changed since the commit.")
		}
	case query.Grep:
		prefix := q.Prefix(ids)
		if q.Count {
			a.Counts, a.More, err = present.Counts(stdout, prefix, cut)
		} else {
			a.Matches, a.More, err = present.Matches(stdout, prefix, q.Context(), cut)
		}
	case query.Branches:
		a.Refs, a.More, err = present.Refs(stdout, cut)
		if err == nil && len(a.Refs) > q.Most() {
			a.Refs = a.Refs[:q.Most()]
			a.More = true
			*a = a.said("There are more than %d; ask for branches or tags alone, or for a larger count.", q.Most())
		}
		if err == nil && len(a.Refs) == 0 && !cut {
			*a = a.said("There is none.")
		}
	}
	return err
}
