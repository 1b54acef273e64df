package house

import "paddock/internal/house/source"

// An exception excuses one finding of a check, with a reason. One that excuses
// nothing any more is itself a finding, so the list can only shrink or be
// argued for.
//
// To add one: copy Rule and Where (without the line number) from the failing
// test's message, and write down why the rule's purpose is served anyway.
type exception struct {
	rule  string
	where string // a file, a package, or file:Func for sizes
	why   string
}

var exceptions = []exception{
	{"purity", "id.go",
		"NewRunID takes its random source and its clock as arguments; nil means crypto/rand, so that no caller can forget randomness"},
	{"globals", "internal/heap/page/page.go",
		"what init skipped is let go of once, by what the first collection calls"},
	{"globals", "internal/testproc/main.go",
		"Main notes whose helpers they are before a test begins"},
	{"statements", "internal/store/tables/prepared/prepared.go",
		"it hands on what package queries asks, whose statements are held to this where they stand; who imports it is, too"},
	{"size", ".",
		"the vocabulary is one package on purpose: every word in one place, and nothing but words"},
	{"size", "internal/contain",
		"one plan of one start: its tree, its rules and what the process gives up are read against one another"},
	{"size", "internal/store/tables",
		"one method for each promise of the contract, each the same few lines from a value to its row and back; cut in two, both would need the transactions and the words for errors"},
	{"size", "internal/spawn",
		"the one dangerous act, read in one sitting: what is prepared, what the child does with it, what its parent sees of it"},
}

// excuse returns the findings that no exception covers, and one more for each
// exception that covers none.
func excuse(found []Finding, excused []exception) []Finding {
	used := make([]bool, len(excused))
	var left []Finding
next:
	for _, f := range found {
		for i, e := range excused {
			if e.rule == f.Rule && e.where == place(f.Where) {
				used[i] = true
				continue next
			}
		}
		left = append(left, f)
	}
	for i, e := range excused {
		if !used[i] {
			left = append(left, source.Found(e.rule, e.where, "an exception in internal/house/exceptions.go excuses nothing any more; delete it"))
		}
	}
	return left
}
