package repos

import (
	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/git/query"
)

// Status is the input of git_status.
type Status struct {
	Path      string `json:"path,omitzero" jsonschema:"only this file or directory, taken literally"`
	Untracked string `json:"untracked,omitzero" jsonschema:"normal (the default: a directory without tracked files is one entry), all or no"`
	Root      string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Grep is the input of git_grep.
type Grep struct {
	Pattern    string `json:"pattern" jsonschema:"a POSIX extended regular expression, where \\w \\s \\b are known and \\d isn't; one line"`
	Fixed      bool   `json:"fixed,omitzero" jsonschema:"take the pattern as it is, not as an expression"`
	IgnoreCase bool   `json:"ignoreCase,omitzero" jsonschema:"take upper and lower case of ASCII for the same"`
	Word       bool   `json:"word,omitzero" jsonschema:"find whole words"`
	Ref        string `json:"ref,omitzero" jsonschema:"search this commit: branch, tag, HEAD or object id; the working tree's tracked files unless given"`
	Path       string `json:"path,omitzero" jsonschema:"only in this file or directory, taken literally"`
	Before     *int64 `json:"before,omitzero" jsonschema:"so many lines before each match too"`
	After      *int64 `json:"after,omitzero" jsonschema:"so many lines after each match too"`
	Count      bool   `json:"count,omitzero" jsonschema:"which files and how many lines, not the lines"`
	Root       string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Branches is the input of git_branches.
type Branches struct {
	Kind     string `json:"kind,omitzero" jsonschema:"branches, tags, or remotes, which are branches elsewhere as they were known last; branches and tags unless given"`
	MaxCount *int64 `json:"maxCount,omitzero" jsonschema:"most of them, newest first; 100 unless given"`
	Root     string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Cat is the input of git_cat.
type Cat struct {
	Path   string `json:"path" jsonschema:"the file"`
	Ref    string `json:"ref,omitzero" jsonschema:"as of which commit; HEAD unless given"`
	Offset *int64 `json:"offset,omitzero" jsonschema:"first byte: 0, or next of the answer before"`
	Limit  *int64 `json:"limit,omitzero" jsonschema:"most characters (bytes with raw); 50000 unless given"`
	Line   *int64 `json:"line,omitzero" jsonschema:"begin at this line, counted from 1; instead of offset"`
	Lines  *int64 `json:"lines,omitzero" jsonschema:"most lines"`
	Raw    bool   `json:"raw,omitzero" jsonschema:"the bytes of binary files, too: base64 where they aren't UTF-8"`
	Root   string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

func (Status) Bounds(p map[string]*jsonschema.Schema) { oneOf(p["untracked"], query.Untracked) }

func (Grep) Bounds(p map[string]*jsonschema.Schema) {
	most := query.MaxPattern
	p["pattern"].MaxLength = &most
	within(p["before"], 0, query.MaxContext)
	within(p["after"], 0, query.MaxContext)
}

func (Branches) Bounds(p map[string]*jsonschema.Schema) {
	oneOf(p["kind"], query.Kinds)
	within(p["maxCount"], 1, query.MaxRefs)
}

func (Cat) Bounds(p map[string]*jsonschema.Schema) {
	atLeast(p["offset"], 0)
	within(p["limit"], 1, paddock.MaxPage)
	atLeast(p["line"], 1)
	atLeast(p["lines"], 1)
}

func (in Status) Check() error { return checked(in) }
func (in Grep) Check() error   { return checked(in) }

func (in Branches) Check() error {
	if in.MaxCount != nil && *in.MaxCount == 0 {
		return paddock.Refused(paddock.InvalidRequest, "maxCount is 0; want 1 to %d", query.MaxRefs)
	}
	return checked(in)
}

func (in Cat) Check() error {
	for name, n := range map[string]*int64{"limit": in.Limit, "line": in.Line, "lines": in.Lines} {
		if n != nil && *n == 0 {
			return paddock.Refused(paddock.InvalidRequest, "%s is 0; want at least 1", name)
		}
	}
	return checked(in)
}

func (in Status) Question() (string, query.Query) {
	return in.Root, query.Status{In: in.Path, Untracked: in.Untracked}
}

func (in Grep) Question() (string, query.Query) {
	return in.Root, query.Grep{
		Ref: in.Ref, In: in.Path, Pattern: in.Pattern, Fixed: in.Fixed, IgnoreCase: in.IgnoreCase, Word: in.Word,
		Before: small(in.Before), After: small(in.After), Count: in.Count,
	}
}

func (in Branches) Question() (string, query.Query) {
	return in.Root, query.Branches{Kind: in.Kind, Count: small(in.MaxCount)}
}

func (in Cat) Question() (string, query.Query) {
	q := query.Cat{Ref: in.Ref, In: in.Path, Limit: small(in.Limit), Line: int64(small(in.Line)), Lines: int64(small(in.Lines)), Raw: in.Raw}
	if in.Offset != nil {
		q.Offset = *in.Offset
	}
	return in.Root, q
}
