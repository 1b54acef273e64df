package compiled

import (
	"slices"
	"strings"

	"paddock"
)

// Uncontained refuses where runs can't be contained as the policy requires: for
// want of the level, unless it is among those that can be given, unavailable says
// what the others lack; or of an account, unowned.
func (f *File) Uncontained(as paddock.ContainAs, levels []paddock.Level, unavailable map[paddock.Level]string, unowned *paddock.Refusal) []*paddock.Refusal {
	var refusals []*paddock.Refusal
	if !slices.Contains(levels, as.Level) {
		refusals = append(refusals, f.without(as.Level, len(levels) == 0, unavailable[as.Level]))
	}
	if unowned == nil && as.RunAs != "" && as.Account == nil {
		unowned = paddock.Refused(paddock.ContainmentUnavailable, "Whose `run_as: %s` is wasn't looked up here.", as.RunAs)
	}
	if unowned != nil {
		refusals = append(refusals, unowned)
	}
	return refusals
}

// without refuses for want of level, of which why says what is missing.
func (f *File) without(level paddock.Level, none bool, why string) *paddock.Refusal {
	requires := "The policy requires containment"
	if f.Sections["containment"] == (paddock.Position{}) {
		requires = "The policy says nothing of containment and so requires"
	}
	r := paddock.Refused(paddock.ContainmentUnavailable, "%s `%s`, which can't be given here%s.", requires, level, strings.TrimSuffix(": "+why, ": "))
	if none {
		r.Hint = "This version runs commands on Linux only; here it can check and explain policies."
	}
	return r
}
