// Package legible refuses what can't be written down exactly, nor be told.
//
// # Limits
//
// What a text says is of no concern here.
package legible

import (
	"maps"
	"slices"
	"unicode/utf8"

	"paddock"
)

// Request refuses text that neither a record nor a supervisor can be told
// exactly: both are told in JSON, which has no words for stray bytes.
func Request(req paddock.Request) []paddock.Refusal {
	c := req.Command
	refusals := append(Variables(c.Env), Variables(c.ReplaceEnv)...)
	if c.Stdin.Text != nil && !utf8.ValidString(*c.Stdin.Text) {
		r := paddock.Refused(paddock.StdinNotAllowed, "The text for standard input isn't valid UTF-8.")
		r.Hint = "Put the bytes in a file inside a root and give that."
		refusals = append(refusals, *r)
	}
	return refusals
}

// Variables refuses variables that aren't text.
func Variables(vars map[string]string) []paddock.Refusal {
	var refusals []paddock.Refusal
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !utf8.ValidString(name) || !utf8.ValidString(vars[name]) {
			r := paddock.Refused(paddock.InvalidRequest, "The variable %q isn't valid UTF-8.", name)
			r.Gate = paddock.GateEnvironment
			refusals = append(refusals, *r)
		}
	}
	return refusals
}
