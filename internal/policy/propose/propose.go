// Package propose writes a first policy for a project, for an operator to read
// and change.
//
// It is a pure function of what somebody saw in the project: which files are
// there and which tools are installed. What it proposes is little on purpose:
// builds, tests and checks with typed flags, and no flag that names another
// program to run.
//
// # Limits
//
// It reads no disk and runs nothing. A build runs the project's own code, so
// what it proposes keeps an agent to the point and is not a boundary; only
// containment is.
package propose

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"paddock"
)

// A Project is what was seen of it.
type Project struct {
	// Root is its directory: absolute, clean, without control characters.
	Root string
	// Markers are names of files in the root, such as go.mod, or, in one with several
	// projects, in theirs: Places has the directory, below the root, of
	// the first of each that isn't in the root.
	Markers []string
	Places  map[string]string
	// Tools maps names to absolute paths, such as go to /usr/local/go/bin/go.
	// Those that can't be used in a policy are left out.
	Tools map[string]string
	// Scripts are the names of package.json's scripts, Targets the Makefile's.
	Scripts []string
	Targets []string
	// GoModCache is the Go module cache in use; empty gives runs one of their own.
	GoModCache string
	// CargoHome is where cargo keeps crates that it fetched; empty as above.
	CargoHome string
	// MavenRepository is where Maven keeps what it fetched; empty as above.
	MavenRepository string
	// Needs maps names of tools to the directories that they are in, or need to
	// see, where that isn't one of the system's.
	Needs map[string][]string
	// Levels lists what containment this machine can give, and Missing says of
	// each other level what it lacks. None means that nothing can be contained.
	Levels  []paddock.Level
	Missing map[paddock.Level]string
	// RunAs is whose account runs are to have where Paddock is root and the level
	// needs one; empty where Paddock isn't. Owns is set when the root belongs to it.
	RunAs string
	Owns  bool
}

// Propose returns the text of a policy. It loads without errors and passes its
// own tests.
func Propose(p Project) []byte {
	w := writer{project: p}
	w.head()
	for _, t := range tools {
		if w.has(t) {
			t.write(&w, t)
		}
	}
	for _, missing := range Unserved(p) {
		w.line("  # %s", missing)
	}
	if w.executables == 0 {
		w.line("  []                                    # nothing that is known was found; docs/policy.md shows how to add a program")
	}
	w.tail()
	return []byte(w.text.String())
}

type writer struct {
	project     Project
	text        strings.Builder
	executables int
	tests       []string
	reads       [][2]string // directories, each with the reason
	builds      bool        // the go command is there
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

func (w *writer) head() {
	w.line("# A policy for Paddock: what may be run here, where, and with which arguments.")
	w.line("# Whatever isn't named is refused. Read it, change it, then check it:")
	w.line("#     paddock policy check FILE")
	w.line("#     paddock policy explain --policy FILE -- go test ./...")
	w.line("# docs/policy.md explains every key.")
	w.line("version: 1")
	w.line("")
	w.line("roots:                                  # where commands may run")
	w.line("  - path: %s", text(w.project.Root))
	w.line("")
	w.line("executables:                            # the exact words accepted in argv[0]; PATH is never searched")
}

func (w *writer) tail() {
	w.line("")
	w.line("environment:                            # built from nothing; PATH and a private HOME are set by Paddock")
	w.line("  pass: [LANG, LC_ALL, TZ, TERM]        # taken from Paddock's own environment, where set")
	w.line("  accept: {CI: <word>}                  # all that a caller may set, and what its value may be")
	w.line("")
	w.line("limits:                                 # a caller may ask for less, never for more")
	w.line("  timeout: 10m")
	w.line("  output: 64MiB                         # of each stream")
	w.line("  concurrent: 8                         # runs of one caller at once")
	w.line("")
	w.containment()
	w.line("")
	w.line("tests:                                  # what this policy must say of some commands")
	for _, t := range w.tests {
		w.line("  - %s", t)
	}
	w.line("  - {refuse: [rm, -rf, /], code: executable_not_allowed}")
	w.line("  - {refuse: [\"sh -c id\"], code: shell_syntax}")
}

// begin writes an executable's head.
func (w *writer) begin(t tool) {
	w.executables++
	for _, dir := range w.project.Needs[t.name] {
		w.read(dir, t.name+" and what belongs to it")
	}
	w.line("  - name: %s", t.name)
	w.line("    path: %s", text(w.project.Tools[t.name]))
	w.line("    args:                               # the first that matches decides; no match refuses")
}

func (w *writer) allow(lines ...string) {
	for i, l := range lines {
		if i == 0 {
			w.line("      - allow: %s", l)
		} else {
			w.line("        %s", l)
		}
	}
}

func (w *writer) deny(words, message string) {
	w.line("      - deny: %s", words)
	w.line("        message: %s", text(message))
}

// passes and refuses add to the policy's own tests.
func (w *writer) passes(argv ...string) {
	w.tests = append(w.tests, "{allow: "+sequence(argv)+"}")
}

func (w *writer) refuses(argv ...string) {
	w.tests = append(w.tests, "{refuse: "+sequence(argv)+", code: arguments_not_allowed}")
}

// has reports whether the tool is installed and one of its markers is there.
func (w *writer) has(t tool) bool {
	p, ok := w.project.Tools[t.name]
	if !ok || !path.IsAbs(p) || path.Clean(p) != p || p == "/" || strings.ContainsFunc(p, isControl) {
		return false
	}
	return slices.ContainsFunc(t.markers, func(m string) bool { return slices.Contains(w.project.Markers, m) })
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

func sequence(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = text(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/._-]*$`) })

// ambiguous words are something else than text without quotes, in this YAML or
// in somebody's.
var ambiguous = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// text writes s as a YAML scalar that is read back as exactly s.
func text(s string) string {
	if plain().MatchString(s) && !slices.Contains(ambiguous, strings.ToLower(s)) {
		return s
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("paddock: bug: a string that can't be quoted: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Word writes s as a YAML scalar that is read back as exactly s.
func Word(s string) string { return text(s) }

// names keeps those names that can stand in a set `{a,b}`, each once.
func names(given []string) []string {
	var out []string
	for _, n := range given {
		if setName().MatchString(n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out[:min(len(out), 50)]
}

var setName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$`) })
