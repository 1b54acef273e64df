// Package present reads what git prints of what there is, and not of how it came
// about: the state of the working tree, lines that were searched for, branches and
// tags, and what is at a path.
//
// # Limits
//
// As in package parse, of which it is a part, nothing is believed: what isn't of
// the form is an error. A line near a match that begins with a number and a NUL is
// taken for a match: git writes both alike.
package present

import (
	"encoding/base64"
	"strconv"
	"strings"

	"paddock/internal/git/parse/present/scan"
)

var (
	text        = scan.Text
	shown       = scan.Shown
	hexadecimal = scan.Hexadecimal
)

// A reader goes through what git printed.
type reader struct{ scan.Reader }

func reading(out []byte) *reader { return &reader{scan.Reader{All: out}} }

// MostChanges and the other bounds are the most that one answer holds.
const (
	MostChanges = 2000
	MostMatches = 1000
	MostCounts  = 2000
	MostRefs    = 1000
	mostLine    = 2000 // bytes of a line that matched
	mostSubject = 500  // bytes of the subject of a ref
)

// A State is what git says of the working tree, the index and the branch.
type State struct {
	// Head is the commit that is checked out; empty if there is none yet.
	Head     string
	Branch   string
	Detached bool
	Upstream *Upstream
	Changes  []Change
}

// An Upstream is what a branch follows, as far as it is known here.
type Upstream struct {
	Ref string `json:"ref"`
	// Ahead and Behind are nil where the upstream itself isn't here.
	Ahead  *int `json:"ahead,omitzero" jsonschema:"commits that only the branch has; missing where the upstream isn't known here"`
	Behind *int `json:"behind,omitzero" jsonschema:"commits that only the upstream has"`
}

// A Change is a file that isn't as it is in HEAD.
type Change struct {
	Kind string `json:"kind" jsonschema:"changed, renamed, copied, conflict or untracked"`
	Path string `json:"path"`
	Raw  string `json:"raw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	From string `json:"from,omitzero" jsonschema:"the path before, of renamed and copied"`
	// Staged and Unstaged are A, C, D, M, R, T as git writes them, empty for none.
	Staged   string `json:"staged,omitzero" jsonschema:"between HEAD and the index: A added, C copied, D deleted, M modified, R renamed, T type changed"`
	Unstaged string `json:"unstaged,omitzero" jsonschema:"the same between the index and the working tree"`
	// Conflict says which sides of a merge did what, as DD AU UD UA DU AA UU.
	Conflict  string `json:"conflict,omitzero" jsonschema:"what ours and theirs did: A added, D deleted, U modified"`
	Submodule bool   `json:"submodule,omitzero"`
}

// Below has the change's paths, which git tells from the repository's top, as they are
// from the directory at prefix.
func (c *Change) Below(prefix string) {
	if prefix == "" {
		return
	}
	c.Path, c.From = strings.TrimPrefix(c.Path, prefix+"/"), strings.TrimPrefix(c.From, prefix+"/")
	if c.Path == "" {
		c.Path = "./" // of which git tracks nothing
	}
	if name, err := base64.StdEncoding.DecodeString(c.Raw); err == nil && c.Raw != "" {
		c.Raw = base64.StdEncoding.EncodeToString([]byte(strings.TrimPrefix(string(name), prefix+"/")))
	}
}

// Status reads what status --porcelain=v2 -z --branch prints.
func Status(out []byte, cut bool) (s State, more bool, err error) {
	s.Changes = []Change{}
	r := reading(out)
	for !r.Done() {
		if len(s.Changes) == MostChanges {
			return s, true, nil
		}
		if err := r.state(&s); err != nil {
			if cut {
				return s, true, nil
			}
			return State{}, false, err
		}
	}
	return s, cut, nil
}

func (r *reader) state(s *State) error {
	line, err := r.Until(0)
	if err != nil {
		return err
	}
	kind, rest, ok := strings.Cut(string(line), " ")
	if !ok {
		return r.Bad("a line of the status")
	}
	switch kind {
	case "#":
		return r.header(s, rest)
	case "?":
		c := Change{Kind: "untracked"}
		c.Path, c.Raw = text([]byte(rest))
		s.Changes = append(s.Changes, c)
		return nil
	case "1":
		return r.change(s, "changed", rest, 7)
	case "2":
		return r.change(s, "renamed", rest, 8)
	case "u":
		return r.change(s, "conflict", rest, 9)
	}
	return r.Bad("a line of the status")
}

// header reads what is said of the branch; what else git may say is passed over.
func (r *reader) header(s *State, line string) error {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" && !hexadecimal(value) {
			return r.Bad("the commit of the branch")
		}
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if s.Detached = value == "(detached)"; !s.Detached {
			s.Branch = shown([]byte(value))
		}
	case "branch.upstream":
		s.Upstream = &Upstream{Ref: shown([]byte(value))}
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		plus, err1 := strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		minus, err2 := strconv.Atoi(strings.TrimPrefix(behind, "-"))
		if err1 != nil || err2 != nil || plus < 0 || minus < 0 || s.Upstream == nil {
			return r.Bad("how far the branch is")
		}
		s.Upstream.Ahead, s.Upstream.Behind = &plus, &minus
	}
	return nil
}

// change reads "XY sub …" with so many words before the path.
func (r *reader) change(s *State, kind, line string, words int) error {
	parts := strings.SplitN(line, " ", words+1)
	if len(parts) != words+1 || len(parts[0]) != 2 || len(parts[1]) != 4 || strings.Trim(parts[0], ".ACDMRTU") != "" {
		return r.Bad("a change")
	}
	c := Change{Kind: kind, Submodule: parts[1][0] == 'S'}
	c.Path, c.Raw = text([]byte(parts[words]))
	staged, unstaged := strings.Trim(parts[0][:1], "."), strings.Trim(parts[0][1:], ".")
	switch kind {
	case "conflict":
		c.Conflict = parts[0]
	case "renamed":
		from, err := r.Until(0)
		if err != nil {
			return err
		}
		c.From = shown(from)
		if strings.HasPrefix(parts[words-1], "C") {
			c.Kind = "copied"
		}
		fallthrough
	default:
		c.Staged, c.Unstaged = staged, unstaged
	}
	s.Changes = append(s.Changes, c)
	return nil
}
