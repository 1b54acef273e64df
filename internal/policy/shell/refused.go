package shell

import (
	"strings"
	"unicode/utf8"

	"paddock"
)

// Refused refuses an argv[0] that can't be a program's word but could be a
// shell's line, and shows what was probably meant. Nil is no such thing.
func Refused(argv []string) *paddock.Refusal {
	if !utf8.ValidString(argv[0]) || strings.IndexByte(argv[0], 0) >= 0 || argv[0] == "" {
		return nil // said already, and nothing can be suggested
	}
	what := Syntax(argv[0])
	if what == "" {
		return nil
	}
	r := paddock.Refused(paddock.ShellSyntax, "argv[0] contains %s. There is no shell here: argv[0] is the program's word alone.", what)
	r.Suggestion = Suggest(strings.Join(argv, " "))
	if r.Suggestion != nil && len(r.Suggestion.Argvs) > 0 {
		r.Hint = "Send the argv arrays of the suggestion, one command each; run a command that needs the result of another when that has ended."
	}
	return r
}
