package query

// Known returns the ids that q's revisions stand for, each as named tells it; nil where
// that says nothing of one, and git must be asked first.
func Known(q Query, named func(ref string) string) (ids []string) {
	switch q.(type) {
	case Log, Show, Diff, Blame, MergeBase:
	default: // what is printed is told apart by the id of a commit
		return nil
	}
	for _, ref := range q.Refs() {
		id := named(ref)
		if id == "" {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
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
