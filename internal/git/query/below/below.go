// Package below makes the words of a question whose root is a directory of a
// repository and not its top, so that git itself leaves out what is above: in what it
// prints, which is kept, there is nothing but what lies below the root, and the commits
// that touch it.
//
// # Limits
//
// Git reads the whole repository for that, as its own files hold it: what keeps the rest
// out of an answer are these words. What they are about is started in the root. The ids of
// commits and trees, and the names of branches and tags, are the repository's.
package below

import (
	"path"
	"slices"
	"strings"

	"paddock/internal/git/query"
)

// Args are the words of q behind git's own options, for the ids of its revisions and a
// path relative to the root, which lies at prefix in the repository.
func Args(q query.Query, ids []string, prefix, name string) []string {
	here := name
	if here == "" {
		here = "." // else git would tell of everything
	}
	switch q := q.(type) {
	case query.Log, query.Diff:
		return relative(q.Args(ids, here))
	case query.Show: // which shows a commit's message whatever it changes; a log of nothing but it doesn't
		words := relative(q.Args([]string{ids[0] + "^!"}, here))
		return slices.Concat([]string{"log", "--full-history", "--max-count=1"}, words[1:])
	case query.Blame: // which otherwise goes on where the file came from
		return slices.Insert(q.Args(ids, here), 1, "--no-follow")
	case query.Grep:
		words := q.Args(ids, here)
		at := slices.Index(words, "--full-name") // before what a caller says: a flag is found or nothing is
		return slices.Delete(words, at, at+1)
	case query.Branches: // whose commits may be about anything
		words := q.Args(ids, here)
		for i, w := range words {
			if strings.HasPrefix(w, "--format=") {
				words[i] = strings.Replace(w, "%(subject)", "", 1)
			}
		}
		return words
	case query.Cat: // of which the path is one of the commit
		return q.Args(ids, path.Join(prefix, here))
	case query.MergeBase: // one id, of no path
		return q.Args(ids, name)
	default: // status and ls-files
		return q.Args(ids, here)
	}
}

// relative has names told as they are from the root.
func relative(words []string) []string {
	words[slices.Index(words, "--no-relative")] = "--relative"
	return words
}

// Name is a path of the repository as it is from the root at prefix.
func Name(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return strings.TrimPrefix(name, prefix+"/")
}
