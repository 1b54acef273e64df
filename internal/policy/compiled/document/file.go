// Package document reads the text of a policy file into a [File], strictly: it
// finds everything that is wrong in one go, each fault with its place.
//
// # Limits
//
// The package knows what a policy file may look like, not what its argument
// tokens and rules mean; package compiled knows.
package document

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/form"
	"paddock/internal/policy/compiled/document/shape/spelling"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/policy/compiled/document/shape/table/reach"
)

// The parts of a file, as package form has them.
type (
	Text         = form.Text
	Pair         = form.Pair
	File         = form.File
	Executable   = form.Executable
	ArgumentRule = form.ArgumentRule
	Rule         = form.Rule
	Environment  = form.Environment
	Limits       = form.Limits
	Containment  = form.Containment
	Git          = form.Git
	Secret       = form.Secret
	Test         = form.Test
	Acceptance   = form.Acceptance
	Narrowing    = form.Narrowing
)

// A Fault is one thing wrong with a file.
type Fault struct {
	At      paddock.Position
	Message string
}

// Read reads data, the content of the file called name. It returns what could
// be understood together with every fault; the File is complete only when
// there are none.
func Read(name string, data []byte) (File, []Fault) {
	b := builder{name: name}
	f := b.file(b.read(data, table.Policy))
	return f, b.faults
}

// ReadTests reads a file that has tests and nothing else.
func ReadTests(name string, data []byte) ([]Test, []Fault) {
	b := builder{name: name}
	return b.tests(b.read(data, table.Tests)), b.faults
}

func (b *builder) read(data []byte, s shape.Shape) *shape.Value {
	value, faults := shape.Read(data, s)
	for _, f := range faults {
		b.faults = append(b.faults, Fault{paddock.Position{File: b.name, Line: f.Line, Column: f.Column}, f.Message})
	}
	return value
}

func (b *builder) tests(v *shape.Value) []Test {
	var out []Test
	for _, item := range v.Get("tests").Items() {
		out = append(out, b.test(item))
	}
	return out
}

type builder struct {
	name   string
	faults []Fault
}

func (b *builder) at(v *shape.Value) paddock.Position {
	if v == nil {
		return paddock.Position{}
	}
	return paddock.Position{File: b.name, Line: v.Line, Column: v.Column}
}

func (b *builder) fault(v *shape.Value, message string) {
	b.faults = append(b.faults, Fault{b.at(v), message})
}

func (b *builder) text(v *shape.Value) Text {
	if v == nil {
		return Text{}
	}
	return form.NewText(v, b.at(v))
}

func (b *builder) texts(v *shape.Value) []Text {
	var out []Text
	for _, item := range v.Items() {
		out = append(out, b.text(item))
	}
	return out
}

func (b *builder) pairs(v *shape.Value) []Pair {
	var out []Pair
	for _, e := range v.Pairs() {
		out = append(out, Pair{Name: b.text(e.Key), Value: b.text(e.Value)})
	}
	return out
}

func (b *builder) file(v *shape.Value) File {
	f := b.part(v)
	f.Extends = b.text(v.Get("extends"))
	f.Narrow = b.narrow(v)
	f.Tests = b.tests(v)
	for _, item := range v.Get("accept").Items() {
		f.Accept = append(f.Accept, Acceptance{At: b.at(item), ID: b.text(item.Get("id")), Place: b.text(item.Get("at")), Reason: b.text(item.Get("reason"))})
	}
	if g := v.Get("git"); g != nil {
		f.Git = Git{At: b.at(g), Roots: b.texts(g.Get("roots")), Executable: b.clean(g.Get("executable")), SHA256: b.text(g.Get("sha256")), Repositories: b.texts(g.Get("repositories"))}
		b.unique(f.Git.Roots, "this root is listed before")
		b.unique(f.Git.Repositories, "this repository is listed before")
	}
	f.Delegates = b.delegates(v)
	b.secrets(v.Get("secrets"), &f)
	if r := v.Get("redact"); r != nil && r.Text == string(paddock.RedactStored) {
		f.Redact = paddock.RedactStored
	}
	f.Retention = b.retention(v.Get("retention"))
	f.Approvals = b.approvals(v.Get("approvals"))
	if f.Extends.Given() {
		b.onlyNarrower(v)
	}
	return f
}

// part reads what a policy has in common with a part that narrows one.
func (b *builder) part(v *shape.Value) File {
	f := File{
		Environment: b.environment(v.Get("environment")),
		Limits:      b.limits(v.Get("limits")),
		Quotas:      b.quotas(v.Get("quotas")),
		Sections:    map[string]paddock.Position{},
		Says:        map[string]bool{},
	}
	for _, e := range v.Pairs() {
		f.Sections[e.Key.Text], f.Says[e.Key.Text] = b.at(e.Key), true
		for _, inner := range e.Value.Pairs() {
			f.Says[e.Key.Text+"."+inner.Key.Text] = true
		}
	}
	for _, item := range v.Get("roots").Items() {
		if p := item.Get("path"); p != nil {
			f.Roots = append(f.Roots, b.clean(p))
		}
	}
	b.unique(f.Roots, "this root is listed before")
	for _, item := range v.Get("executables").Items() {
		f.Executables = append(f.Executables, b.executable(item))
	}
	for _, item := range v.Get("rules").Items() {
		f.Rules = append(f.Rules, b.rule(item))
	}
	if c := v.Get("containment"); c != nil {
		f.Containment = b.containment(c)
	}
	if f.Containment.Network != "allowlist" {
		for _, item := range v.Get("executables").Items() {
			if n := item.Get("network"); n != nil {
				b.fault(n, "nothing holds a program to this list unless `containment` says `network: allowlist`; say so, or remove the list")
			}
		}
	}
	return f
}

func (b *builder) containment(v *shape.Value) Containment {
	c := Containment{Require: paddock.Level(b.text(v.Get("require")).Value), Network: b.text(v.Get("network")).Value, At: b.at(v)}
	c.RunAs = b.runAs(v.Get("run_as"))
	c.Read, c.Write = b.paths(v.Get("read")), b.paths(v.Get("write"))
	c.Workspace = b.text(v.Get("workspace")).Value
	if c.Workspace == paddock.OverlayWorkspace && c.Require != "" && c.Require != paddock.Full {
		b.fault(v.Get("workspace"), "`overlay` needs `require: full`, which alone gives programs a view of their own")
	}
	c.Deeper = b.text(v.Get("deeper")).Value
	if c.Deeper != "" && c.Workspace == paddock.OverlayWorkspace {
		b.fault(v.Get("deeper"), "with `workspace: overlay` nothing gets into the root by itself, so there is nothing to look for; remove it")
	}
	c.Exec = b.text(v.Get("exec"))
	c.ExecAlso = b.paths(v.Get("exec_also"))
	if c.Network == "allowlist" && c.Require == paddock.Standard {
		b.fault(v.Get("network"), "`allowlist` needs `require: full`, which alone gives programs a network of their own")
	}
	if c.Require != paddock.Off {
		return c
	}
	for _, key := range []string{"read", "write"} {
		if list := v.Get(key); list != nil {
			b.fault(list, "`require: off` contains nothing, so `"+key+"` would promise what isn't kept; remove it")
		}
	}
	if n := v.Get("network"); n != nil && c.Network != "host" {
		b.fault(n, "`require: off` contains nothing: the network is `host`")
	}
	return c
}

// runAs returns a user that may be somebody's.
func (b *builder) runAs(v *shape.Value) string {
	t := b.text(v).Value
	if t == "root" {
		b.fault(v, "root may do what nothing holds; name an ordinary user")
	}
	for number := range strings.SplitSeq(t, ":") {
		if n, err := strconv.ParseUint(number, 10, 64); err == nil && n >= 1<<32-1 {
			b.fault(v, number+" is nobody's number: the highest is 4294967294")
		}
	}
	return t
}

// clean returns a path that is written in the one way that it is compared in.
func (b *builder) clean(v *shape.Value) Text {
	t := b.text(v)
	if v != nil && path.Clean(t.Value) != t.Value {
		b.fault(v, "write this path as "+path.Clean(t.Value)+" (no `.`, `..`, doubled or final `/`)")
	}
	return t
}

func (b *builder) paths(v *shape.Value) (out []Text) {
	for _, item := range v.Items() {
		out = append(out, b.clean(item))
	}
	return out
}

func (b *builder) reach(v *shape.Value) Text {
	t := b.text(v)
	if reach.HasForm(t.Value) { // else it is reported
		if err := reach.Check(t.Value); err != nil {
			b.fault(v, fmt.Sprintf("`%s`: %v", t.Value, err))
		}
	}
	return t
}

func (b *builder) unique(texts []Text, message string) {
	seen := map[string]bool{}
	for _, t := range texts {
		if t.Given() && seen[t.Value] {
			b.fault(t.Source(), message)
		}
		seen[t.Value] = true
	}
}

func (b *builder) executable(v *shape.Value) Executable {
	e := Executable{
		At:          b.at(v),
		Name:        b.text(v.Get("name")),
		Path:        b.clean(v.Get("path")),
		SHA256:      b.text(v.Get("sha256")),
		Any:         b.text(v.Get("args")).Value == "any",
		ArgsAt:      b.at(v.Get("args")),
		LimitsAt:    b.at(v.Get("limits")),
		Environment: b.environment(v.Get("environment")),
		Limits:      b.limits(v.Get("limits")),
		LineBreaks:  b.text(v.Get("line_breaks")).Value == "true",
		PTY:         b.text(v.Get("pty")).Value == "true",
		MaxArgBytes: b.size(v.Get("max_arg_bytes"), maxArgBytes),
		MaxArgs:     int(b.number(v.Get("max_args"))),
	}
	if e.Path.Value == "/" {
		b.fault(v.Get("path"), "/ is a directory, not a program")
	}
	for _, item := range v.Get("network").Items() {
		e.Network = append(e.Network, b.reach(item))
	}
	b.unique(e.Network, "this place is listed before")
	for _, item := range v.Get("args").Items() {
		e.Args = append(e.Args, b.argumentRule(item))
	}
	return e
}

func (b *builder) argumentRule(v *shape.Value) ArgumentRule {
	r := ArgumentRule{
		At:      b.at(v),
		Words:   b.texts(v.Get("allow")),
		Flags:   b.pairs(v.Get("flags")),
		Rest:    b.text(v.Get("rest")),
		Message: b.text(v.Get("message")),
	}
	if deny := v.Get("deny"); deny != nil {
		r.Deny, r.Words = true, b.texts(deny)
	}
	return r
}

func (b *builder) rule(v *shape.Value) Rule {
	r := Rule{Name: b.text(v.Get("name")), Expression: b.text(v.Get("deny")), Message: b.text(v.Get("message"))}
	if ask := v.Get("ask"); ask != nil {
		r.Ask, r.Expression, r.SecondFactor = true, b.text(ask), b.text(v.Get("second_factor")).Value == "true"
	}
	return r
}

func (b *builder) environment(v *shape.Value) Environment {
	e := Environment{Set: b.pairs(v.Get("set")), Pass: b.texts(v.Get("pass")), Accept: b.pairs(v.Get("accept"))}
	b.unique(e.Pass, "this variable is listed before")
	for _, p := range e.Set {
		if slices.ContainsFunc(e.Pass, func(t Text) bool { return t.Value == p.Name.Value }) {
			b.fault(p.Name.Source(), "this variable is both in `set` and in `pass`; keep one")
		}
	}
	return e
}

func (b *builder) limits(v *shape.Value) Limits {
	return Limits{
		Timeout:    b.duration(v.Get("timeout")),
		Idle:       b.duration(v.Get("idle")),
		Output:     b.size(v.Get("output"), maxOutput),
		OpenFiles:  int(b.number(v.Get("open_files"))),
		Concurrent: int(b.number(v.Get("concurrent"))),
		Memory:     b.size(v.Get("memory"), maxMemory),
		Processes:  int(b.number(v.Get("processes"))),
		CPUs:       b.decimal(v.Get("cpus")),
		Disk:       b.size(v.Get("disk"), maxMemory),
		FileSize:   b.size(v.Get("file_size"), maxMemory),
		AtLimit:    b.text(v.Get("at_limit")).Value,
		Reserve:    b.size(v.Get("reserve"), maxMemory),
	}
}

func (b *builder) retention(v *shape.Value) paddock.Retention {
	r := paddock.Retention{
		Age:     time.Duration(b.duration(v.Get("age"))),
		Runs:    int(b.number(v.Get("runs"))),
		Size:    b.size(v.Get("size"), maxMemory),
		Records: time.Duration(b.duration(v.Get("records"))),
	}
	if how := b.text(v.Get("compress")).Value; how != "none" {
		r.Compress = paddock.Compression(how)
	}
	return r
}

func (b *builder) test(v *shape.Value) Test {
	t := Test{At: b.at(v), Code: paddock.Code(b.text(v.Get("code")).Value), Dir: b.clean(v.Get("dir")).Value}
	argv := v.Get("allow")
	if refuse := v.Get("refuse"); refuse != nil {
		t.Refuse, argv = true, refuse
	}
	for _, item := range argv.Items() {
		t.Argv = append(t.Argv, item.Text)
	}
	return t
}

func (b *builder) number(v *shape.Value) int64 {
	if v == nil {
		return 0
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil { // the shape has checked it
		b.fault(v, "not a number")
	}
	return n
}

// Nearest returns the one of words that s is most probably a slip of the pen
// for, or "".
func Nearest(s string, words []string) string { return spelling.Nearest(s, words) }

// Schema returns the JSON Schema of a policy file.
func Schema() []byte { return shape.SchemaText(table.Policy, "Paddock policy") }

// TestsSchema returns the JSON Schema of a file of tests.
func TestsSchema() []byte { return shape.SchemaText(table.Tests, "Tests of a Paddock policy") }
