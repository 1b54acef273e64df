// Package caution says what lint has to say of what was learned.
//
// # Limits
//
// It knows what package lint knows, and of that what can be said without a look at the
// machine. Each command costs a pass of lint, some milliseconds.
package caution

import (
	"slices"

	"paddock/internal/review/learn"
	"paddock/internal/review/lint"
)

// A Caution is what speaks against a proposal.
type Caution struct {
	// Findings is what lint says of the new text and didn't say of the old one, Warnings
	// what it says of commands.
	Findings []lint.Finding `json:"findings"`
	Warnings []Warning      `json:"warnings"`
}

// A Warning is what lint says of a command that was learned, by itself: whatever else the
// policy allows or accepts, this one would be new.
type Warning struct {
	Argv    []string `json:"argv"`
	ID      string   `json:"id"`
	At      string   `json:"at"`
	Message string   `json:"message"`
	Fix     string   `json:"fix"`
}

// Of returns what lint says of a proposal for old, the policy called name. Neither list
// is nil.
func Of(name string, old []byte, p learn.Proposal) (Caution, error) {
	c := Caution{Findings: []lint.Finding{}, Warnings: []Warning{}}
	before, err := lint.Lint(name, old, lint.Facts{})
	if err != nil {
		return c, err
	}
	now, err := lint.Lint(name, p.Text, lint.Facts{})
	if err != nil {
		return c, err
	}
	for _, one := range lint.Open(now) {
		if !slices.ContainsFunc(before, func(o lint.Finding) bool { return o.ID == one.ID && o.At == one.At }) {
			c.Findings = append(c.Findings, one)
		}
	}
	return c, c.each(name, p)
}

// each has each command that was learned looked at alone.
func (c *Caution) each(name string, p learn.Proposal) error {
	alone, err := p.Alone(name)
	if err != nil {
		return err
	}
	for i, text := range alone {
		found, err := lint.Lint(name, text, lint.Facts{})
		if err != nil {
			return err
		}
		for _, one := range found {
			if len(one.Example) > 0 { // it is about words that are allowed
				c.Warnings = append(c.Warnings, Warning{p.Learned[i].Argv, one.ID, one.At, one.Message, one.Fix})
			}
		}
	}
	return nil
}

// Beside returns the warnings of one command.
func (c Caution) Beside(argv []string) []Warning {
	var out []Warning
	for _, w := range c.Warnings {
		if slices.Equal(w.Argv, argv) {
			out = append(out, w)
		}
	}
	return out
}

// Rest returns the findings that no warning says of a command itself.
func (c Caution) Rest() []lint.Finding {
	var out []lint.Finding
	for _, one := range c.Findings {
		if !slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.ID == one.ID && w.At == one.At }) {
			out = append(out, one)
		}
	}
	return out
}
