package probe

import (
	"strings"

	"paddock"
	"paddock/internal/contain/probe/attempt"
)

// Run attempts everything, and returns a result for each check of [Table] that isn't
// found out beside it. A program that calls it should end soon after.
func Run(t Targets) ([]Result, error) {
	var names []string
	for _, a := range attempt.List { // in its order
		check, ok := Find(a.Check)
		if ok && !a.Rough && a.At(t.Level) != attempt.Untried && !check.Beside {
			names = append(names, a.Name)
		}
	}
	answers, err := Try(t, names, nil)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range Table {
		if !c.Beside {
			results = append(results, c.result(t.Level, answers))
		}
	}
	return results, nil
}

// result is what the answers say of a check: it is held when no attempt succeeded,
// or all where it is to work.
func (c Check) result(level paddock.Level, answers map[string]attempt.Answer) Result {
	r := Result{Check: c.ID, Detail: attempt.ErrUntried.Error()}
	var details []string
	for _, a := range c.attempts(level) {
		answer := answers[a.Name]
		switch {
		case answer.Untried:
			continue
		case answer.Succeeded != c.Works && answer.Succeeded:
			return Result{Check: c.ID, Tried: true, Detail: a.Name + ": done"}
		case answer.Succeeded != c.Works:
			return Result{Check: c.ID, Tried: true, Detail: a.Name + ": " + answer.Hindrance}
		case c.Works:
			details = append(details, a.Name+": done")
		default:
			details = append(details, a.Name+": "+answer.Hindrance)
		}
	}
	if len(details) > 0 {
		r.Held, r.Tried, r.Detail = true, true, strings.Join(details, "; ")
	}
	return r
}
