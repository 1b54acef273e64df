// Package lint reads a policy for what it lets through without saying so: ways out
// of tools, rules that never decide, places that programs could change, limits that
// aren't there.
//
// What rules allow is asked of all commands at once, see package language, so a
// finding about arguments comes with a command that the rules do allow.
//
// # Limits
//
// Nothing is looked up: what is known of files and accounts is handed in as
// [Facts], and without them it isn't judged. Findings are about words; CEL rules and
// containment may hold what they warn of, and then they are accepted with that
// reason. Tools that package tools doesn't know pass.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/layered"
)

// A Finding is one thing that a policy's author should look at.
type Finding struct {
	ID       string           `json:"id"`
	At       string           `json:"at"`
	Position paddock.Position `json:"position"`
	Message  string           `json:"message"`
	Fix      string           `json:"fix"`
	// Example is a command that the rules allow and the finding is about.
	Example []string `json:"example,omitempty"`
	// Accepted is the reason for which the policy accepts it; empty if it doesn't.
	Accepted string `json:"accepted,omitempty"`
}

// Facts is what is known of the machine. Empty parts aren't judged.
type Facts struct {
	// File is the real path of the policy, Home the home of who runs Paddock.
	File, Home string
	// Roots maps each root and path of `write` to what it leads to.
	Real map[string]string
	// Programs says what is known of the executables' files, by path.
	Programs map[string]Program
}

// A Program is what is known of a file.
type Program struct {
	// Problem says in words why it can't run or be trusted.
	Problem string
	// Root is set when the file belongs to root.
	Root bool
}

// Lint returns what there is to say of data, the content of the file called name,
// and more that belongs to it. Where it extends others, what is looked over is the
// one of them that extends no other: the others only take away from that. A policy
// that has errors is an error, [*policy.Errors].
func Lint(name string, data []byte, facts Facts, more ...policy.Source) ([]Finding, error) {
	if _, err := policy.Load(name, data, more...); err != nil {
		return nil, err
	}
	whole, _ := layered.Load(name, data, more...) // has no faults, as was just seen
	own, faults := document.Read(name, data)
	source, at, text := own, name, data
	for _, m := range more {
		if !m.Floor {
			at, text = m.Name, m.Data
			source, faults = document.Read(at, text)
		}
	}
	file, further := layered.Load(at, text)
	if len(faults)+len(further) > 0 {
		return nil, errors.New("bug: a policy that loads can't be read again")
	}
	source.Tests, source.Accept = own.Tests, slices.Concat(own.Accept, unlike(own, source).Accept)
	l := linter{source: source, file: file, facts: facts}
	l.roots()
	for i, e := range file.Executables {
		l.executable(source.Executables[i], e)
	}
	for i, p := range source.Delegates.Providers { // their words are the operator's own
		at := "delegates.providers." + p.Executable.Name.Value
		l.ownFile(at, p.Executable, file.Delegates.File.Executables[i])
		l.environment(at, p.Executable.Environment)
		l.longTime(at, p.Executable.Limits, p.Executable.LimitsAt)
	}
	l.rules()
	l.environment("environment", source.Environment)
	l.limits()
	l.secrets()
	l.principals(whole.Narrow)
	l.approvals()
	l.factors()
	l.quotas()
	l.containment()
	if len(source.Tests) == 0 {
		l.add("L070", "tests", paddock.Position{File: name, Line: 1, Column: 1}, "The policy has no tests.", nil)
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Position.File, b.Position.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column, strings.Compare(a.ID, b.ID))
	})
	return l.accepted(), nil
}

// unlike returns other, or nothing where that is the same file.
func unlike(one, other document.File) document.File {
	if !one.Extends.Given() {
		return document.File{}
	}
	return other
}

// Open returns the findings that aren't accepted.
func Open(found []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Accepted != "" })
}

type linter struct {
	source document.File
	file   compiled.File
	facts  Facts
	found  []Finding
}

func (l *linter) add(id, at string, where paddock.Position, message string, example []string) {
	l.found = append(l.found, Finding{ID: id, At: at, Position: where, Message: message, Fix: check(id).Fix, Example: example})
}

// accepted marks what the policy accepts, and adds what it accepts in vain.
func (l *linter) accepted() []Finding {
	for _, a := range l.source.Accept {
		used := false
		for i := range l.found {
			if f := &l.found[i]; f.ID == a.ID.Value && f.At == a.Place.Value && f.ID != "L090" {
				f.Accepted, used = a.Reason.Value, true
			}
		}
		if !used {
			l.add("L090", "accept", a.At, fmt.Sprintf("There is no finding %s at %s to be accepted.", a.ID.Value, a.Place.Value), nil)
		}
	}
	return l.found
}
