// Package known makes words for git of revisions whose ids are known without asking it.
//
// # Limits
//
// It reads no repository: who asks says what names stand for. What it makes are ids in full with
// steps behind, and nothing else, whatever a revision says.
package known

import (
	"regexp"
	"sync"

	"paddock/internal/git/query"
)

// IDs returns what q's revisions stand for, each as named tells it: ids, and where
// the answer tells what commit it is of also an id with steps behind, as
// ~2. It is nil where that says nothing of one, and git must be asked first. Whole asks for an id
// of a commit, not of a tag's own object.
func IDs(q query.Query, tells bool, named func(ref string, whole bool) string) (ids []string) {
	if _, file := q.(query.Cat); file { // which is asked otherwise
		return nil
	}
	for _, ref := range q.Refs() {
		at := len(ref)
		if tells {
			at = steps().FindStringIndex(ref)[0]
		}
		id := named(ref[:at], !tells)
		if id == "" {
			return nil
		}
		ids = append(ids, id+ref[at:])
	}
	return ids
}

// Steps returns words for q's revisions that are ids with steps behind, as ~2, each id as
// named tells it, be it a commit's or a tag's own: what they stand for is the same whenever it is asked. It is nil where
// that isn't told of one, or where there is nothing to be told.
func Steps(q query.Query, named func(ref string, whole bool) string) (words []string) {
	if _, file := q.(query.Cat); file {
		return nil
	}
	for _, ref := range q.Refs() {
		at := steps().FindStringIndex(ref)[0]
		id := named(ref[:at], false)
		if id == "" {
			return nil
		}
		words = append(words, id+ref[at:])
	}
	return words
}

// steps are those from one commit to another. What they are, ends it.
var steps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([~^][0-9]{0,6})*$`) })

// Tells reports whether the first commit of the answer is the one that is asked for.
func Tells(q query.Query) bool {
	switch q := q.(type) {
	case query.Show:
		return q.In == ""
	case query.Log:
		return q.In+q.Since+q.Until+q.Author == "" && q.Skip == 0
	}
	return false
}

// Commits has git take each of ids for a commit, or refuse it.
func Commits(ids []string) []string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id + "^{commit}"
	}
	return words
}
