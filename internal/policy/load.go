package policy

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/document"
	"paddock/internal/policy/environ"
	"paddock/internal/policy/pattern"
	celrule "paddock/internal/policy/rule"
)

// What holds where the policy says nothing.
const (
	defaultTimeout    = paddock.Duration(120 * time.Second)
	defaultOutput     = 10 << 20
	defaultOpenFiles  = 1024
	defaultConcurrent = 8
	defaultArgBytes   = 4096
	defaultArgs       = 256
	maxErrors         = 200
)

// An executable is a program of the policy, compiled.
type executable struct {
	at   paddock.Position
	name string
	path string
	pin  paddock.Digest
	any  bool
	args []argumentRule
	// first holds, in order, the rules whose first word is the literal key;
	// other those that aren't so bound.
	first       map[string][]*argumentRule
	other       []*argumentRule
	argsAt      paddock.Position
	forms       string // what args allow, for messages
	environment environment
	limits      paddock.Limits
	limitsAt    paddock.Position
	lineBreaks  bool
	maxArgBytes int64
	maxArgs     int
}

func (e *executable) word() string {
	if e.name != "" {
		return e.name
	}
	return e.path
}

type argumentRule struct {
	at      paddock.Position
	deny    bool
	rule    *pattern.Rule
	message string
	// form is how messages show the rule, allowed the detail of a pass.
	form, allowed string
	order         int // among the rules of its executable
}

type rule struct {
	at      paddock.Position
	name    string
	ask     bool
	rule    *celrule.Rule
	message string
}

type environment struct {
	set    []document.Pair
	pass   []string
	accept map[string]pattern.Token
}

// Load parses and compiles data, the content of the file called name. When
// anything is wrong the error is an [*Errors] that lists all of it.
func Load(name string, data []byte) (*Policy, error) {
	file, faults := document.Read(name, data)
	c := loader{}
	for _, f := range faults {
		c.fault(f.At, "%s", f.Message)
	}
	p := &Policy{
		name:        name,
		digest:      paddock.DigestOf(sha256.Sum256(data)),
		byWord:      map[string]*executable{},
		environment: c.environment(file.Environment),
		limits:      within(file.Limits, paddock.Limits{Timeout: defaultTimeout, Output: defaultOutput, OpenFiles: defaultOpenFiles}),
		concurrent:  or(file.Limits.Concurrent, defaultConcurrent),
		require:     or(file.Containment.Require, paddock.Full),
		sections:    file.Sections,
	}
	for _, r := range file.Roots {
		p.roots = append(p.roots, r.Value)
	}
	for _, e := range file.Executables {
		p.executables = append(p.executables, c.executable(e, p.limits, file.Sections["limits"]))
	}
	c.words(p, file)
	p.path = environ.Path(p.Executables())
	p.rules = c.rules(file.Rules)
	for _, t := range file.Tests {
		p.tests = append(p.tests, Test{t.At, t.Argv, t.Dir, t.Refuse, t.Code})
	}
	if c.errors != nil {
		return nil, &Errors{List: c.sorted()}
	}
	return p, nil
}

// loader collects what is wrong while a file is compiled.
type loader struct{ errors []Error }

func (c *loader) fault(at paddock.Position, format string, args ...any) {
	c.errors = append(c.errors, Error{at, fmt.Sprintf(format, args...)})
}

// sorted returns the faults in the order of the file, but not endlessly many.
func (c *loader) sorted() []Error {
	slices.SortStableFunc(c.errors, func(a, b Error) int {
		if a.Position.Line != b.Position.Line {
			return a.Position.Line - b.Position.Line
		}
		return a.Position.Column - b.Position.Column
	})
	list := slices.Compact(c.errors)
	if more := len(list) - maxErrors; more > 0 {
		list = append(list[:maxErrors:maxErrors], Error{list[maxErrors].Position, fmt.Sprintf("and %d more from here on", more)})
	}
	return list
}

func or[T comparable](given, otherwise T) T {
	var zero T
	if given == zero {
		return otherwise
	}
	return given
}

// within fills what l doesn't say from the limits around it.
func within(l document.Limits, around paddock.Limits) paddock.Limits {
	return paddock.Limits{
		Timeout:   or(l.Timeout, around.Timeout),
		Output:    or(l.Output, around.Output),
		OpenFiles: or(l.OpenFiles, around.OpenFiles),
	}
}

func (c *loader) executable(e document.Executable, around paddock.Limits, limitsAt paddock.Position) *executable {
	x := &executable{
		at: e.At, name: e.Name.Value, path: e.Path.Value, any: e.Any, argsAt: e.ArgsAt,
		environment: c.environment(e.Environment),
		limits:      within(e.Limits, around),
		limitsAt:    limitsAt,
		lineBreaks:  e.LineBreaks,
		maxArgBytes: or(e.MaxArgBytes, defaultArgBytes),
		maxArgs:     or(e.MaxArgs, defaultArgs),
	}
	if e.LimitsAt != (paddock.Position{}) {
		x.limitsAt = e.LimitsAt
	}
	if e.SHA256.Given() { // 64 digits, as the document has checked
		x.pin = paddock.Digest("sha256:" + strings.ToLower(strings.TrimPrefix(e.SHA256.Value, "sha256:")))
	}
	var forms []string
	for _, r := range e.Args {
		a := c.argumentRule(r, x.word())
		x.args = append(x.args, a)
		if !a.deny {
			forms = append(forms, a.form)
		}
	}
	x.forms = list(forms)
	x.index()
	return x
}

// index sorts the argument rules by their first word.
func (x *executable) index() {
	x.first = map[string][]*argumentRule{}
	for i := range x.args {
		r := &x.args[i]
		r.order = i
		if r.rule == nil {
			continue // its faults are reported
		}
		if word, ok := r.rule.First(); ok {
			x.first[word] = append(x.first[word], r)
		} else {
			x.other = append(x.other, r)
		}
	}
}

// candidates returns the rules that can match args, in order.
func (x *executable) candidates(args []string) []*argumentRule {
	if len(args) == 0 || x.first[args[0]] == nil {
		return x.other
	}
	first, other := x.first[args[0]], x.other
	if len(other) == 0 {
		return first
	}
	merged := slices.Concat(first, other)
	slices.SortFunc(merged, func(a, b *argumentRule) int { return a.order - b.order })
	return merged
}

func (c *loader) argumentRule(r document.ArgumentRule, word string) argumentRule {
	source := pattern.Source{Rest: r.Rest.Value}
	for _, w := range r.Words {
		source.Words = append(source.Words, w.Value)
	}
	for _, f := range r.Flags {
		source.Flags = append(source.Flags, pattern.Flag{Name: f.Name.Value, Value: f.Value.Value})
	}
	compiled, faults := pattern.Compile(source)
	for _, f := range faults {
		at := r.Rest.At
		switch f.Part {
		case pattern.InWords:
			at = r.Words[f.Index].At
		case pattern.InFlagName:
			at = r.Flags[f.Index].Name.At
		case pattern.InFlagValue:
			at = r.Flags[f.Index].Value.At
		}
		c.fault(at, "%s", f.Message)
	}
	a := argumentRule{at: r.At, deny: r.Deny, rule: compiled, message: r.Message.Value}
	if compiled != nil {
		a.form = "`" + strings.TrimSpace(word+" "+compiled.Form()) + "`"
		a.allowed = "allowed as " + a.form
	}
	return a
}

// words makes the table of the words accepted in argv[0].
func (c *loader) words(p *Policy, file document.File) {
	uses := map[string]int{}
	for _, e := range file.Executables {
		uses[e.Path.Value]++
	}
	for i, e := range file.Executables {
		word := e.Name
		if !word.Given() {
			word = e.Path
		}
		if !word.Given() {
			continue // its absence is reported
		}
		if p.byWord[word.Value] != nil {
			c.fault(word.At, "`%s` is the word of another executable already; put all its rules there", word.Value)
		}
		p.byWord[word.Value] = p.executables[i]
	}
	// A program with several names (busybox) has no single meaning by its path.
	for _, e := range p.executables {
		if e.path != "" && uses[e.path] == 1 {
			p.byWord[e.path] = e
		}
	}
}

func (c *loader) rules(rules []document.Rule) []rule {
	var out []rule
	seen := map[string]bool{}
	for _, r := range rules {
		if r.Name.Given() && seen[r.Name.Value] {
			c.fault(r.Name.At, "another rule is called `%s`; a refusal names the rule, so give each its own name", r.Name.Value)
		}
		seen[r.Name.Value] = true
		if !r.Expression.Given() {
			continue // its absence is reported
		}
		compiled, faults := celrule.Compile(r.Expression.Value)
		for _, f := range faults {
			c.fault(r.Expression.Within(f.Line, f.Column), "%s", f.Message)
		}
		out = append(out, rule{at: r.Expression.At, name: r.Name.Value, ask: r.Ask, rule: compiled, message: r.Message.Value})
	}
	return out
}

func (c *loader) environment(e document.Environment) environment {
	env := environment{set: e.Set, accept: map[string]pattern.Token{}}
	for _, p := range e.Set {
		c.variable(p.Name)
	}
	for _, t := range e.Pass {
		c.variable(t)
		env.pass = append(env.pass, t.Value)
	}
	for _, p := range e.Accept {
		c.variable(p.Name)
		if environ.IsSteering(p.Name.Value) {
			c.fault(p.Name.At, "`%s` can change what a command does or where it looks for programs, so no caller may set it; give it a fixed value under `set`", p.Name.Value)
		}
		token, err := pattern.ParseToken(p.Value.Value)
		if err != nil {
			c.fault(p.Value.At, "%v", err)
		}
		env.accept[p.Name.Value] = token
	}
	return env
}

// variable refuses what no program may get, as far as the file shows it.
func (c *loader) variable(name document.Text) {
	switch {
	case name.Value == "PWD":
		c.fault(name.At, "`PWD` is always the working directory; remove it")
	case environ.IsSecret(name.Value):
		c.fault(name.At, "`%s` looks like a secret, and every program could print it; remove it", name.Value)
	}
}
