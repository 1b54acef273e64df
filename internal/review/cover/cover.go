// Package cover counts which parts of a policy its tests ever reached: executables,
// argument rules, rules in CEL.
//
// # Limits
//
// A part that was reached isn't proved right, only asked. Limits, the environment and
// containment aren't counted: a test is a command, and says nothing of them.
package cover

import (
	"errors"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/layered"
)

// A Part of a policy can decide.
type Part struct {
	At       string           `json:"at"`
	Position paddock.Position `json:"position"`
	Says     string           `json:"says"`
	// Tests is how many tests it took part in.
	Tests int `json:"tests"`
}

// Coverage is what tests reached.
type Coverage struct {
	Covered int    `json:"covered"`
	Parts   []Part `json:"parts"`
	file    compiled.File
}

// New returns the parts of the policy in data, and in more that belongs to it, none
// of them reached.
func New(name string, data []byte, more ...policy.Source) (*Coverage, error) {
	file, faults := layered.Load(name, data, more...)
	if len(faults) > 0 {
		return nil, errors.New(faults[0].Message)
	}
	c := &Coverage{Parts: []Part{}, file: file}
	for _, e := range file.Executables {
		at := "executables." + e.Word()
		c.Parts = append(c.Parts, Part{At: at, Position: e.At, Says: e.Word()})
		n := 0
		for _, layer := range e.Asked() {
			for _, r := range layer.Rules() {
				effect := "allow "
				if r.Deny {
					effect = "deny "
				}
				n++
				c.Parts = append(c.Parts, Part{At: fmt.Sprintf("%s.args.%d", at, n), Position: r.At, Says: effect + r.Form})
			}
		}
	}
	for _, r := range file.Rules {
		effect := "deny"
		if r.Ask {
			effect = "ask"
		}
		c.Parts = append(c.Parts, Part{At: "rules." + r.Name, Position: r.At, Says: effect + " by rule " + r.Name})
	}
	return c, nil
}

// Add counts one command and what was decided of it.
func (c *Coverage) Add(argv []string, d paddock.Decision) {
	if e := c.file.Find(argv); e != nil {
		c.reach(func(p Part) bool { return p.Position == e.At })
	}
	if d.Grant() != nil && d.Grant().Rule != nil {
		c.reach(func(p Part) bool { return p.Position == *d.Grant().Rule })
	}
	// What refuses for another reason may have been allowed by an argument rule.
	if g, _ := d.Gates.Of(paddock.GateArguments); g.Position != nil && d.Grant() == nil {
		c.reach(func(p Part) bool { return p.Position == *g.Position })
	}
	for _, r := range d.Refusals {
		if r.Gate == paddock.GateRules && r.Rule != "" {
			c.reach(func(p Part) bool { return p.At == "rules."+r.Rule })
		}
	}
}

func (c *Coverage) reach(is func(Part) bool) {
	if i := slices.IndexFunc(c.Parts, is); i >= 0 {
		if c.Parts[i].Tests++; c.Parts[i].Tests == 1 {
			c.Covered++
		}
	}
}

// Missed returns the parts that no test reached.
func (c *Coverage) Missed() []Part {
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p Part) bool { return p.Tests > 0 })
}
