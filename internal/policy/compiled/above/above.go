// Package above works out which directories the git tools read: the roots that a
// policy's `git` section lists, and the repositories that lie above such roots.
//
// # Limits
//
// It knows paths by their text only. Whether there is a repository, and what leads
// out of it, is looked at by package repository when a question is asked.
package above

import (
	"path"
	"slices"
	"strings"

	"paddock"
)

// Roots returns the absolute paths of roots, each inside of one of around, which are
// taken where there are none. Of the i-th that isn't, fault is told.
func Roots(around, roots []string, fault func(i int, message string)) []string {
	if len(roots) == 0 {
		return around
	}
	var out []string
	for i, r := range roots {
		where := absolute(around, r)
		if !slices.ContainsFunc(around, func(root string) bool { return where == root || below(root, where) }) {
			fault(i, "this repository isn't inside of a root; list it under `roots`, or name one that is")
		}
		out = append(out, where)
	}
	return out
}

// Stores returns where the own files of repositories lie, whose tops are given: what
// is read beside the roots, one of which each must be above: of the i-th that isn't, fault
// is told.
func Stores(around, roots, tops []string, fault func(i int, message string)) []string {
	var out []string
	for i, t := range tops {
		top := absolute(around, t)
		if !slices.ContainsFunc(roots, func(root string) bool { return below(top, root) }) {
			fault(i, "no root of the git tools lies below this repository; name the top of one that a root is a directory of, and a root that is a repository itself under `roots`")
		}
		if store := path.Join(top, ".git"); !slices.Contains(out, store) {
			out = append(out, store)
		}
	}
	return out
}

// Of is as for a run in root: of the stores, which are all that as reads, it has the
// one that is nearest above root. What another room's runs read stays as it is.
func Of(as paddock.ContainAs, room, root string) paddock.ContainAs {
	if room != "git" {
		return as
	}
	nearest := ""
	for _, store := range as.Read {
		if below(path.Dir(store), root) && len(store) > len(nearest) {
			nearest = store
		}
	}
	// Whoever else may write above the root could have it lead to another repository.
	if as.Read, as.Real = nil, nearest != ""; as.Real {
		as.Read = []string{nearest}
	}
	return as
}

// absolute is where a path leads that may be relative to the first root.
func absolute(around []string, where string) string {
	if !path.IsAbs(where) && len(around) > 0 {
		where = path.Join(around[0], where)
	}
	return path.Clean(where)
}

// below reports whether inner lies in outer and isn't outer itself.
func below(outer, inner string) bool {
	return inner != outer && strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}
