package query

import "strings"

// Known returns the ids that q's revisions name, where each is an id in full or one that
// named knows, which says nothing of others; nil where git must be asked first.
func Known(q Query, named func(ref string) string) (ids []string) {
	switch q.(type) {
	case Log, Show, Diff, Blame, MergeBase:
	default: // what is printed is told apart by the id of a commit
		return nil
	}
	for _, ref := range q.Refs() {
		if !full(ref) {
			if ref = named(ref); !full(ref) {
				return nil
			}
		}
		ids = append(ids, ref)
	}
	return ids
}

// full says whether ref is an id, and nothing that is short for one.
func full(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}

// Commits has git take each of ids for a commit, or refuse it.
func Commits(ids []string) []string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id + "^{commit}"
	}
	return words
}

// Instead says what can be asked of a repository without a working tree.
func Instead(q Query) string {
	switch q.Tool() {
	case "diff":
		return " Give base and head."
	case "grep":
		return " Give the revision to search in."
	}
	return ""
}
