package query

import (
	"slices"
	"strings"
)

// Apart has git look at the commit of no other repository where they are to be set apart.
func Apart(set bool, args []string) []string {
	if at := slices.Index(args, "--ignore-submodules=dirty"); set && at >= 0 {
		args = slices.Clone(args)
		args[at] = "--ignore-submodules=all"
	}
	return args
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

// Failure says in words what a status of git means, where that is an answer.
func Failure(q Query, status *int, stderr string) string {
	if status == nil || *status == 0 {
		return ""
	}
	switch {
	case q.Tool() == "merge_base" && *status == 1:
		return "The two have no common ancestor."
	case q.Tool() == "grep" && *status == 1:
		return "Nothing matches. (Binary files, and files that git doesn't track, aren't searched.)"
	case q.Tool() == "blame" && strings.Contains(stderr, "no such path"):
		return "The revision has no file of that path."
	case q.Tool() == "blame" && strings.Contains(stderr, "has only"):
		return "The file has fewer lines than that."
	}
	return "Git failed; stderr says why."
}
