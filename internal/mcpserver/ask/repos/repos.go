// Package repos has the inputs of the git tools.
//
// # Limits
//
// What is asked checks itself (package query); here is only what a tool's schema
// says of it.
package repos

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/git/query"
	"paddock/internal/mcpserver/ask"
)

// A Git is the input of a git tool.
type Git interface {
	ask.Input
	// Question returns which repository is meant, and what is asked of it.
	Question() (root string, q query.Query)
}

// Log is the input of git_log.
type Log struct {
	Ref      string `json:"ref,omitzero" jsonschema:"branch, tag, HEAD or object id, perhaps with ~N or ^N; HEAD unless given"`
	Path     string `json:"path,omitzero" jsonschema:"only commits that touch this file or directory, taken literally"`
	MaxCount *int64 `json:"maxCount,omitzero" jsonschema:"most commits; 20 unless given"`
	Skip     *int64 `json:"skip,omitzero" jsonschema:"leave out so many before: next of the answer before"`
	Since    string `json:"since,omitzero" jsonschema:"a date as 2026-05-01 or an age as 3 days ago"`
	Until    string `json:"until,omitzero" jsonschema:"the same, for the other end"`
	Author   string `json:"author,omitzero" jsonschema:"text that the author has in it, as Name <address>"`
	Format   string `json:"format,omitzero" jsonschema:"oneline: first lines; full (the default): messages; stat: with files and numbers of lines; name-only: with files"`
	Root     string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Show is the input of git_show.
type Show struct {
	Ref      string `json:"ref" jsonschema:"the commit: branch, tag, HEAD or object id, perhaps with ~N or ^N"`
	Path     string `json:"path,omitzero" jsonschema:"only what changes this file or directory, taken literally"`
	NameOnly bool   `json:"nameOnly,omitzero" jsonschema:"which files, not what changes in them"`
	Root     string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Diff is the input of git_diff.
type Diff struct {
	Base     string `json:"base,omitzero" jsonschema:"the side before; without it the index is compared with the working tree"`
	Head     string `json:"head,omitzero" jsonschema:"the side after; without it the working tree"`
	Path     string `json:"path,omitzero" jsonschema:"only this file or directory, taken literally"`
	NameOnly bool   `json:"nameOnly,omitzero" jsonschema:"which files, not what changes in them"`
	Stat     bool   `json:"stat,omitzero" jsonschema:"which files and how many lines"`
	Unified  *int64 `json:"unified,omitzero" jsonschema:"lines around each change; 3 unless given"`
	Root     string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// Blame is the input of git_blame.
type Blame struct {
	Path      string `json:"path" jsonschema:"the file"`
	Ref       string `json:"ref,omitzero" jsonschema:"as of which commit; HEAD unless given"`
	LineStart *int64 `json:"lineStart,omitzero" jsonschema:"first line, from 1"`
	LineEnd   *int64 `json:"lineEnd,omitzero" jsonschema:"last line; at most 1000 lines, 100 if one end is missing"`
	Root      string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// MergeBase is the input of git_merge_base.
type MergeBase struct {
	Base string `json:"base" jsonschema:"one revision"`
	Head string `json:"head" jsonschema:"the other"`
	Root string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

// ListFiles is the input of git_ls_files.
type ListFiles struct {
	Path string `json:"path,omitzero" jsonschema:"only this file or directory, taken literally"`
	Root string `json:"root,omitzero" jsonschema:"one of the policy's git roots, as it is written there; the first unless given"`
}

func (Log) Bounds(p map[string]*jsonschema.Schema) {
	within(p["maxCount"], 1, query.MaxCount)
	within(p["skip"], 0, query.MaxSkip)
	oneOf(p["format"], query.Formats)
}
func (Show) Bounds(map[string]*jsonschema.Schema)   {}
func (Diff) Bounds(p map[string]*jsonschema.Schema) { within(p["unified"], 0, query.MaxUnified) }
func (Blame) Bounds(p map[string]*jsonschema.Schema) {
	atLeast(p["lineStart"], 1)
	atLeast(p["lineEnd"], 1)
}
func (MergeBase) Bounds(map[string]*jsonschema.Schema) {}
func (ListFiles) Bounds(map[string]*jsonschema.Schema) {}

func (in Log) Check() error {
	if in.MaxCount != nil && *in.MaxCount == 0 {
		return paddock.Refused(paddock.InvalidRequest, "maxCount is 0; want 1 to %d", query.MaxCount)
	}
	return checked(in)
}

func (in Show) Check() error {
	if in.Ref == "" {
		return paddock.Refused(paddock.InvalidRequest, "ref is missing; want a branch, a tag, HEAD or an object id")
	}
	return checked(in)
}

func (in Diff) Check() error { return checked(in) }

func (in Blame) Check() error {
	for name, n := range map[string]*int64{"lineStart": in.LineStart, "lineEnd": in.LineEnd} {
		if n != nil && *n == 0 {
			return paddock.Refused(paddock.InvalidRequest, "%s is 0; lines are counted from 1", name)
		}
	}
	return checked(in)
}

func (in MergeBase) Check() error { return checked(in) }
func (in ListFiles) Check() error { return checked(in) }

// within, atLeast and oneOf bound a value in a schema.
func within(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }

func atLeast(s *jsonschema.Schema, least float64) { s.Minimum = &least }

func oneOf(s *jsonschema.Schema, values []string) {
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
}

// checked lets the question check itself, with numbers that no question takes
// already out of the way.
func checked(in Git) error {
	root, q := in.Question()
	if strings.ContainsRune(root, 0) {
		return paddock.Refused(paddock.InvalidRequest, "root contains a NUL character")
	}
	return q.Check()
}

// small returns a number that fits everywhere; one that doesn't is too large for
// every question.
func small(n *int64) int {
	if n == nil {
		return 0
	}
	return int(min(max(*n, -1), 4*query.MaxSkip))
}

func (in Log) Question() (string, query.Query) {
	return in.Root, query.Log{Ref: in.Ref, In: in.Path, Count: small(in.MaxCount), Skip: small(in.Skip), Since: in.Since, Until: in.Until, Author: in.Author, Format: in.Format}
}

func (in Show) Question() (string, query.Query) {
	return in.Root, query.Show{Ref: in.Ref, In: in.Path, NameOnly: in.NameOnly}
}

func (in Diff) Question() (string, query.Query) {
	q := query.Diff{Base: in.Base, Head: in.Head, In: in.Path, NameOnly: in.NameOnly, Stat: in.Stat}
	if in.Unified != nil {
		n := small(in.Unified)
		q.Unified = &n
	}
	return in.Root, q
}

func (in Blame) Question() (string, query.Query) {
	return in.Root, query.Blame{Ref: in.Ref, In: in.Path, Start: small(in.LineStart), End: small(in.LineEnd)}
}

func (in MergeBase) Question() (string, query.Query) {
	return in.Root, query.MergeBase{Base: in.Base, Head: in.Head}
}

func (in ListFiles) Question() (string, query.Query) {
	return in.Root, query.ListFiles{In: in.Path}
}
