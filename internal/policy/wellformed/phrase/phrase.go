// Package phrase puts words of callers and of the machine into messages, so
// that they stay on one line, can't pass for our own words and end somewhere.
//
// # Limits
//
// It shortens and quotes; it hides no secret.
package phrase

import (
	"fmt"
	"strings"

	"paddock"
	"paddock/internal/policy/wellformed"
)

// Quote shows a caller's word within a message: on one line, and not at length.
func Quote(w string) string {
	const most = 100
	if len(w) > most {
		w = strings.ToValidUTF8(w[:most], "") + "…"
	}
	return fmt.Sprintf("%q", w)
}

// List joins words for a message, but not endlessly many; none are "(none)".
func List(words []string) string {
	const mostWords, mostBytes = 40, 4000
	if len(words) == 0 {
		return "(none)"
	}
	var b strings.Builder
	for i, w := range words {
		if i == mostWords || b.Len()+len(w) > mostBytes && i > 0 {
			fmt.Fprintf(&b, " and %d more", len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w)
	}
	return b.String()
}

// Shown is a name from the machine within a message: as it is, unless it could
// be taken for something else.
func Shown(name string) string {
	if wellformed.OneLine(name) {
		return name
	}
	return Quote(name)
}

// Names lists names, each as Shown shows it.
func Names(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = Shown(name)
	}
	return List(shown)
}

// Outside refuses words that must be paths inside a root and aren't. real is where
// one leads, if anywhere.
func Outside(words []string, real func(string) string) *paddock.Refusal {
	said := make([]string, 0, len(words))
	for _, w := range words {
		if to := real(w); to != "" {
			said = append(said, fmt.Sprintf("%s leads to %s", Quote(w), Shown(to)))
		} else {
			said = append(said, Quote(w))
		}
	}
	return paddock.Refused(paddock.PathOutsideRoot, "An argument must be a path inside a root and isn't: %s.", List(said))
}

// Rules says that of all rules none denies, and how many that ask were approved.
func Rules(approved, all int) string {
	if approved > 0 {
		return fmt.Sprintf("%d of %d ask, and were approved", approved, all)
	}
	return fmt.Sprintf("none of %d applies", all)
}

// Roots says where a command may run: in the roots of the policy, or in the workspace that
// it is confined to; who is confined isn't told the others. Apart is said where it would run among workspaces.
func Roots(roots []string, workspace string, apart bool) string {
	if workspace != "" {
		return "Only the workspace " + Shown(workspace) + " counts here, which must be a directory inside a root of the policy, without links in its name"
	}
	if apart {
		return "Workspaces are there, which are used by their names: say in which. Roots: " + List(roots)
	}
	return "Roots: " + List(roots)
}

// NoTerminal refuses a terminal for the executable that is called word.
func NoTerminal(word string) *paddock.Refusal {
	r := paddock.Refused(paddock.StdinNotAllowed, "The policy gives %s no terminal.", Quote(word))
	r.Hint = "Ask for the run without one, and give what it reads as its standard input; or ask the operator for `pty: true` on this executable."
	return r
}

// NoDirectory refuses a working directory that isn't one; roots says where there are some.
func NoDirectory(dir, roots string) *paddock.Refusal {
	return paddock.Refused(paddock.CwdMissing, "The working directory, %s, doesn't exist or isn't a directory. %s.", directory(dir), roots)
}

// OutsideRoots refuses a working directory that is elsewhere: real is where it leads, if
// anywhere.
func OutsideRoots(dir, real, roots string) *paddock.Refusal {
	where := directory(dir)
	if real != "" && real != dir {
		where += ", which is " + Shown(real)
	}
	return paddock.Refused(paddock.CwdOutsideRoot, "The working directory, %s, isn't inside a root. %s.", where, roots)
}

func directory(dir string) string {
	if dir == "" {
		return "the first root"
	}
	return Quote(dir)
}
