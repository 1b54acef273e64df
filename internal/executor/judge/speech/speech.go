// Package speech refuses what can't be said exactly: records and supervisors are told
// in JSON, which has no words for stray bytes.
//
// # Limits
//
// Everything else that is wrong with a request, the policy says.
package speech

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock"
)

// Unspeakable refuses text that neither a record nor a supervisor can be told
// exactly: both are told in JSON, which has no words for stray bytes.
func Unspeakable(req paddock.Request) []paddock.Refusal {
	c := req.Command
	refusals := append(Unfitting(c.Env), Unfitting(c.ReplaceEnv)...)
	if c.Stdin.Text != nil && !utf8.ValidString(*c.Stdin.Text) {
		r := paddock.Refused(paddock.StdinNotAllowed, "The text for standard input isn't valid UTF-8.")
		r.Hint = "Put the bytes in a file inside a root and give that."
		refusals = append(refusals, *r)
	}
	return refusals
}

// Unfitting refuses variables that aren't text.
func Unfitting(vars map[string]string) []paddock.Refusal {
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

// Key refuses an idempotency key that can't be written down.
func Key(key string) error {
	if strings.IndexByte(key, 0) < 0 && utf8.ValidString(key) {
		return nil
	}
	return paddock.Refused(paddock.InvalidRequest, "The idempotency key must be valid UTF-8 without NUL.")
}

// Approvable says how what a rule asks about is approved.
func Approvable(factor bool) string {
	if factor {
		return "A person can approve it, by a vote that is brought to a server to which a second factor was shown; ask for exactly the same again then."
	}
	return "A person can approve it, with `paddock approve`; ask for exactly the same again then."
}

// Changeable refuses what could be different when a request that needs approval starts.
func Changeable(s paddock.Stdin) []paddock.Refusal {
	if s.File == "" {
		return nil
	}
	r := paddock.Refused(paddock.StdinNotAllowed, "What needs approval can't read a file on its standard input: the file can change after it was approved.")
	r.Gate, r.Hint = paddock.GateStdin, "Give text, or the output of a settled run."
	return []paddock.Refusal{*r}
}
