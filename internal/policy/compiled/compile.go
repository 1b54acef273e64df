package compiled

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/shape/form"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/compiled/pattern/program"
	celrule "paddock/internal/policy/compiled/rule"
)

const (
	defaultConcurrent = 8
	maxFaults         = 200
)

// The bounds of a command, where the policy says nothing of its executable.
const (
	DefaultArgBytes = 4096
	DefaultArgs     = 256
)

func values(texts []document.Text) []string { return form.Values(texts) }

// Compile compiles a whole policy as it was read, the content of the file called
// name. It returns the file or everything that is wrong with it, faults included.
func Compile(name string, source document.File, faults []document.Fault) (File, []document.Fault) {
	c := compiler{faults: faults, proxied: source.Containment.Network == "allowlist", trusting: slices.ContainsFunc(source.Secrets, func(s document.Secret) bool { return s.Host.Given() })}
	f := c.file(name, source, source.Limits.Within(source.Containment.Unsaid()))
	f.Concurrent = cmp.Or(f.Concurrent, defaultConcurrent)
	f.Contain = source.Containment.As()
	f.Reserve = source.Limits.Reserve
	c.listed(&f, source)
	f.Redact = source.Redact
	for _, s := range source.Secrets {
		provider := c.provider(&f, s)
		if len(s.EnvFor) > 0 {
			f.Given = append(f.Given, paddock.Given{Secret: s.Name.Value, File: s.File.Value, To: values(s.EnvFor), Provider: provider})
		}
		if s.Place != "" {
			f.Secrets = append(f.Secrets, paddock.Injection{
				Secret: s.Name.Value, Place: s.Place, Header: s.Header.Value, Prefix: s.Prefix.Value, File: s.File.Value, CA: s.CA.Value, Provider: provider,
			})
		}
	}
	f.Git = c.git(&f, source.Git)
	c.narrowings(&f, source)
	if len(c.faults) > 0 {
		return File{}, c.sorted()
	}
	return f, nil
}

// file compiles what whole policies and parts have in common.
func (c *compiler) file(name string, source document.File, limits paddock.Limits) File {
	f := File{
		Name:        name,
		byWord:      map[string]*Executable{},
		Environment: c.environment(source.Environment),
		Limits:      limits,
		Concurrent:  source.Limits.Concurrent,
		Retention:   source.Retention,
		Quotas:      source.Quotas,
		Approvals:   source.Approvals,
		Tests:       source.Tests,
		Sections:    source.Sections,
		Roots:       values(source.Roots),
	}
	for _, e := range source.Executables {
		f.Executables = append(f.Executables, c.executable(e, f.Limits, source.Sections["limits"]))
	}
	c.words(&f, source)
	f.search = environ.Path(f.Paths())
	f.Rules = c.rules(source.Rules)
	return f
}

// compiler collects what is wrong while a file is compiled.
type compiler struct {
	faults []document.Fault
	// proxied is set when programs get proxy variables from us.
	proxied bool
	// trusting is set when programs are told by us which certificates to trust.
	trusting bool
}

func (c *compiler) fault(at paddock.Position, format string, args ...any) {
	c.faults = append(c.faults, document.Fault{At: at, Message: fmt.Sprintf(format, args...)})
}

// sorted returns the faults in the order of the file, but not endlessly many.
func (c *compiler) sorted() []document.Fault {
	slices.SortStableFunc(c.faults, func(a, b document.Fault) int {
		return cmp.Or(a.At.Line-b.At.Line, a.At.Column-b.At.Column)
	})
	list := slices.Compact(c.faults)
	if more := len(list) - maxFaults; more > 0 {
		list = append(list[:maxFaults:maxFaults], document.Fault{At: list[maxFaults].At, Message: fmt.Sprintf("and %d more from here on", more)})
	}
	return list
}

func (c *compiler) executable(e document.Executable, around paddock.Limits, limitsAt paddock.Position) *Executable {
	x := &Executable{
		At: e.At, Name: e.Name.Value, Path: e.Path.Value, Any: e.Any, ArgsAt: e.ArgsAt,
		Environment: c.environment(e.Environment),
		Limits:      e.Limits.Within(around),
		LimitsAt:    limitsAt,
		Reach:       values(e.Network),
		LineBreaks:  e.LineBreaks,
		PTY:         e.PTY,
		MaxArgBytes: cmp.Or(e.MaxArgBytes, DefaultArgBytes),
		MaxArgs:     cmp.Or(e.MaxArgs, DefaultArgs),
	}
	if e.LimitsAt != (paddock.Position{}) {
		x.LimitsAt = e.LimitsAt
	}
	if e.SHA256.Given() { // 64 digits, as the document has checked
		x.Pin = paddock.Digest("sha256:" + strings.ToLower(strings.TrimPrefix(e.SHA256.Value, "sha256:")))
	}
	var rules []ArgumentRule
	for _, r := range e.Args {
		rules = append(rules, c.argumentRule(r, x.Word()))
	}
	x.SetRules(rules)
	return x
}

func (c *compiler) argumentRule(r document.ArgumentRule, word string) ArgumentRule {
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
	a := ArgumentRule{At: r.At, Deny: r.Deny, Rule: compiled, Message: r.Message.Value}
	if compiled != nil {
		a.Form = "`" + strings.TrimSpace(word+" "+compiled.Form()) + "`"
		a.Allowed = "allowed as " + a.Form
	}
	return a
}

// words makes the table of the words accepted in argv[0].
func (c *compiler) words(f *File, source document.File) {
	uses := map[string]int{}
	for _, e := range source.Executables {
		uses[e.Path.Value]++
	}
	for i, e := range source.Executables {
		word := e.Name
		if !word.Given() {
			word = e.Path
		}
		if !word.Given() {
			continue // its absence is reported
		}
		if f.byWord[word.Value] != nil {
			c.fault(word.At, "`%s` is the word of another executable already; put all its rules there", word.Value)
		}
		f.byWord[word.Value] = f.Executables[i]
	}
	// A program with several names (busybox) has no single meaning by its path.
	for _, e := range f.Executables {
		if e.Path != "" && uses[e.Path] == 1 {
			f.byWord[e.Path] = e
		}
	}
}

func (c *compiler) rules(rules []document.Rule) []Rule {
	var out []Rule
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
		out = append(out, Rule{At: r.Expression.At, Name: r.Name.Value, Ask: r.Ask, SecondFactor: r.SecondFactor, Rule: compiled, Message: r.Message.Value})
	}
	return out
}

func (c *compiler) environment(e document.Environment) Environment {
	env := Environment{Accept: map[string]pattern.Token{}}
	for _, p := range e.Set {
		c.variable(p.Name)
		env.Set = append(env.Set, program.Variable{Name: p.Name.Value, Value: p.Value.Value})
	}
	for _, t := range e.Pass {
		c.variable(t)
		env.Pass = append(env.Pass, t.Value)
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
		env.Accept[p.Name.Value] = token
	}
	return env
}

// variable refuses what no program may get, as far as the file shows it.
func (c *compiler) variable(name document.Text) {
	switch {
	case name.Value == "PWD":
		c.fault(name.At, "`PWD` is always the working directory; remove it")
	case c.proxied && environ.IsProxy(name.Value):
		c.fault(name.At, "`%s` leads to the run's own proxy where the network is `allowlist`; remove it", name.Value)
	case c.trusting && environ.IsCertificates(name.Value):
		c.fault(name.At, "`%s` leads to the run's own certificates where there are `secrets`; remove it", name.Value)
	case environ.IsSecret(name.Value):
		c.fault(name.At, "`%s` looks like a secret, and every program could print it; remove it", name.Value)
	}
}
