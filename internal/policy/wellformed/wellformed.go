// Package wellformed knows what no request may be, whatever the policy says:
// one that names nobody, has two standard inputs, or holds text that isn't text.
//
// # Limits
//
// It judges each part by itself and grants nothing. Package policy asks it and
// turns the answers into refusals.
package wellformed

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"paddock"
)

// Bounds in bytes.
const (
	MaxLabel     = 200
	MaxKey       = 200
	MaxPath      = 4096
	MaxStdinText = 1 << 20
	// maxVariable is the longest NAME=value that Linux hands to a program.
	maxVariable  = 128<<10 - 1
	maxVariables = 1000
)

// Request says what is wrong with a request apart from its command's own parts.
func Request(r *paddock.Request) string {
	switch {
	case r.Principal.Kind == "" || r.Principal.ID == "":
		return "The request doesn't say who asks."
	case r.Principal.Kind != paddock.Operator && r.Principal.Kind != paddock.Agent && r.Principal.Kind != paddock.Host && r.Principal.Kind != paddock.User:
		return "The kind of the principal must be operator, agent, host or user."
	case len(r.IdempotencyKey) > MaxKey:
		return fmt.Sprintf("The idempotency key has %d bytes; at most %d are allowed.", len(r.IdempotencyKey), MaxKey)
	case !utf8.ValidString(r.IdempotencyKey):
		return "The idempotency key isn't valid UTF-8."
	case len(r.Command.Label) > MaxLabel:
		return fmt.Sprintf("The label has %d bytes; at most %d are allowed.", len(r.Command.Label), MaxLabel)
	case !OneLine(r.Command.Label):
		return "The label must be one line of valid UTF-8 without control characters."
	}
	return ""
}

// Roots are those of a command that is confined to a workspace, where it isn't empty:
// that alone if it is inside one of the policy's, else none.
func Roots(roots []string, workspace string) []string {
	if workspace == "" {
		return roots
	}
	if !path.IsAbs(workspace) || path.Clean(workspace) != workspace || !Path(workspace) {
		return nil
	}
	for _, r := range roots {
		if workspace == r || strings.HasPrefix(workspace, strings.TrimSuffix(r, "/")+"/") {
			return []string{workspace}
		}
	}
	return nil
}

// OneLine reports whether s is text that stays on its line.
func OneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
	})
}

// Word says what is wrong with the i-th word of a command, with the code of it;
// "" if nothing is.
func Word(i int, w string, mostBytes int64, breaks bool) (paddock.Code, string) {
	switch {
	case w != "" && int64(len(w)) <= mostBytes && printable(w): // as nearly all are
		return "", ""
	case i == 0 && w == "":
		return paddock.ArgvInvalid, "is empty."
	case int64(len(w)) > mostBytes:
		return paddock.ArgvTooLong, fmt.Sprintf("has %d bytes; at most %d are allowed.", len(w), mostBytes)
	case strings.IndexByte(w, 0) >= 0:
		return paddock.ArgvNUL, "contains a NUL byte."
	case !utf8.ValidString(w):
		return paddock.ArgvInvalid, "isn't valid UTF-8."
	case i > 0 && !breaks && strings.ContainsAny(w, "\r\n"):
		return paddock.ArgvLineBreak, "contains a line break."
	}
	return "", ""
}

// printable reports whether s is of nothing but printable ASCII.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Path reports whether s can be a path; "" can, and means that none is given.
func Path(s string) bool {
	return len(s) <= MaxPath && strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// Stdin says what is wrong with what c asks for as its input. How long a text may be,
// and whether there may be a terminal, is a matter of policy.
func Stdin(c *paddock.Command) string {
	s := c.Stdin
	sources := 0
	for _, given := range []bool{s.Text != nil, s.File != "", s.Run != ""} {
		if given {
			sources++
		}
	}
	switch {
	case c.Terminal != nil && !s.IsZero():
		return "A program with a terminal reads what is typed there: leave its standard input out."
	case c.Terminal != nil && !c.Terminal.Valid():
		return fmt.Sprintf("The terminal has %d rows and %d columns; each is from 1 to %d.", c.Terminal.Rows, c.Terminal.Columns, paddock.MostCells)
	case sources > 1:
		return "Standard input has one source: text, file or run."
	case s.Stream != "" && s.Run == "":
		return "A stream can be named only beside a run."
	case s.Stream != "" && s.Stream != paddock.Stdout && s.Stream != paddock.Stderr:
		return "The stream of a run is stdout or stderr."
	case s.Run != "" && !isRun(s.Run):
		return "The run to read from isn't named by a run id."
	case !Path(s.File):
		return fmt.Sprintf("The file to read from must be a path of at most %d bytes of UTF-8 without NUL.", MaxPath)
	}
	return ""
}

func isRun(id paddock.RunID) bool {
	_, err := paddock.ParseRunID(string(id))
	return err == nil
}

// Variables says what is wrong with an environment whose names are names.
func Variables(names, values []string) (problems []string) {
	if len(names) > maxVariables {
		problems = append(problems, fmt.Sprintf("The environment has %d variables; at most %d are allowed.", len(names), maxVariables))
	}
	for i, name := range names {
		if value := values[i]; strings.IndexByte(value, 0) >= 0 || len(name)+1+len(value) > maxVariable {
			problems = append(problems, fmt.Sprintf("The value of %q contains a NUL byte or is longer than a program can receive.", name))
		}
	}
	return problems
}
