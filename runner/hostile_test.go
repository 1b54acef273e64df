//go:build linux

package runner

import (
	"slices"
	"strings"
	"testing"

	"paddock"
)

// What hostile callers send is refused with a code, and nothing is started.
func TestHostileArgv(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, ", line_breaks: true", "", 1))
	tests := map[string]struct {
		argv []string
		code paddock.Code
	}{
		"nil":               {nil, paddock.ArgvEmpty},
		"empty word":        {[]string{""}, paddock.ArgvInvalid},
		"leading dash":      {[]string{"-c"}, paddock.ExecutableNotAllowed},
		"NUL":               {[]string{"sh", "a\x00b"}, paddock.ArgvNUL},
		"NUL in the word":   {[]string{"sh\x00"}, paddock.ArgvNUL},
		"line break":        {[]string{"sh", "-c", "true\nfalse"}, paddock.ArgvLineBreak},
		"two megabytes":     {[]string{"sh", strings.Repeat("x", 2<<20)}, paddock.ArgvTooLong},
		"ten thousand":      {slices.Repeat([]string{"sh"}, 10_000), paddock.ArgvTooMany},
		"bad UTF-8":         {[]string{"sh", "\xc3\x28"}, paddock.ArgvInvalid},
		"look-alike":        {[]string{"ѕh"}, paddock.ExecutableNotAllowed}, // a Cyrillic letter
		"zero width":        {[]string{"s\u200bh"}, paddock.ExecutableNotAllowed},
		"another case":      {[]string{"SH"}, paddock.ExecutableNotAllowed},
		"by its path":       {[]string{"../../bin/sh"}, paddock.ExecutableNotAllowed},
		"trailing blank":    {[]string{"sh "}, paddock.ShellSyntax},
		"a shell line":      {[]string{"sh;id"}, paddock.ShellSyntax},
		"a command subst":   {[]string{"$(id)"}, paddock.ShellSyntax},
		"a variable prefix": {[]string{"A=b", "sh"}, paddock.ShellSyntax},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := w.r.Start(t.Context(), Command{Argv: tt.argv})
			refused(t, err, tt.code)
		})
	}
	list, err := w.r.List(t.Context(), Filter{})
	must(t, err)
	if len(list.Runs) > 0 {
		t.Errorf("%d runs were made", len(list.Runs))
	}
}

// An argument reaches the program as it is, whatever a shell would make of it.
func TestArgumentsReachTheProgramAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	words := []string{"a b", "$HOME", "`id`", "*", "~", "'", `"`, `\`, "", "-n", "ä€𝄞", "two\nlines", "&&", ">x"}
	run, err := w.r.Start(t.Context(), Command{Argv: append([]string{"sh", "-c", `printf '<%s>' "$@"`, "name"}, words...)})
	must(t, err)
	if got, want := w.text(w.settle(run), Stdout), "<"+strings.Join(words, "><")+">"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
