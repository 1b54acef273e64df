package document

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/form"
	"paddock/internal/policy/compiled/document/shape/table/reach"
)

// secrets reads the section and refuses what could never be used, or would be
// seen by programs.
func (b *builder) secrets(v *shape.Value, f *File) {
	if v == nil {
		return
	}
	first := map[string]string{}
	injected := false
	for _, e := range v.Pairs() {
		inject := e.Value.Get("inject")
		s := Secret{
			At: b.at(e.Value), Name: b.text(e.Key), File: b.clean(e.Value.Get("file")), Host: b.text(inject.Get("host")), Header: b.text(inject.Get("header")),
			Prefix: b.text(inject.Get("prefix")), CA: b.clean(inject.Get("ca")), EnvFor: b.texts(e.Value.Get("env_for")),
		}
		s.Exec = b.exec(e.Value, f)
		b.outside(s.File, "programs see", slices.Concat(f.Roots, f.Containment.Read, f.Containment.Write))
		if s.Exec != nil {
			b.outside(s.Exec.Executable.Path, "programs can change", slices.Concat(f.Roots, f.Containment.Write))
		}
		b.given(e.Value, s, f)
		injected = injected || inject != nil
		if s.Header.Given() && !reach.Settable(s.Header.Value) {
			b.fault(s.Header.Source(), fmt.Sprintf("`%s` says how a request is sent, so nothing else can be put there; name the header that the service reads its credential from", s.Header.Value))
		}
		if s.Host.Given() {
			s.Place = b.origin(s, f)
		}
		if other, twice := first[s.Place]; twice && s.Place != "" {
			b.fault(s.Host.Source(), fmt.Sprintf("`%s` goes to this host already, and a host gets one secret", other))
		}
		first[s.Place] = s.Name.Value
		f.Secrets = append(f.Secrets, s)
	}
	if injected && f.Containment.Network != "allowlist" {
		b.faults = append(b.faults, Fault{f.Sections["secrets"], "only a run's proxy can put these into requests, and there is one only where `containment` says `network: allowlist`; say so, or remove `inject`"})
	}
}

// given refuses a secret that nothing uses, and variables that can't be given.
func (b *builder) given(v *shape.Value, s Secret, f *File) {
	if v.Get("inject") == nil && v.Get("env_for") == nil {
		b.fault(v, "nothing uses this secret; say by `inject` which requests carry it, or by `env_for` which programs get it as a variable")
	}
	if len(s.EnvFor) == 0 {
		return
	}
	b.unique(s.EnvFor, "this program is listed before")
	for _, word := range s.EnvFor {
		all := f.Programs()
		at := slices.IndexFunc(all, func(e Executable) bool { return word.Value == cmp.Or(e.Name.Value, e.Path.Value) })
		if at < 0 {
			b.fault(word.Source(), fmt.Sprintf("no executable is called `%s`, nor a delegate; `env_for` takes the words by which programs are asked for", word.Value))
			continue
		}
		for _, e := range []Environment{f.Environment, all[at].Environment} {
			says := func(p Pair) bool { return p.Name.Value == s.Name.Value }
			if slices.ContainsFunc(e.Set, says) || slices.ContainsFunc(e.Accept, says) || slices.ContainsFunc(e.Pass, func(t Text) bool { return t.Value == s.Name.Value }) {
				b.fault(word.Source(), fmt.Sprintf("`environment` has the variable `%s` for this program, too; remove it there", s.Name.Value))
			}
		}
	}
}

// origin returns the place that a secret goes to, which a program must be able
// to reach.
func (b *builder) origin(s Secret, f *File) string {
	place, err := reach.Origin(s.Host.Value)
	if err != nil {
		b.fault(s.Host.Source(), fmt.Sprintf("`%s`: %v", s.Host.Value, err))
		return ""
	}
	lists := func(t Text) bool { return reach.Lists([]string{t.Value}, place) }
	if !slices.ContainsFunc(f.Programs(), func(e Executable) bool { return slices.ContainsFunc(e.Network, lists) }) {
		b.fault(s.Host.Source(), fmt.Sprintf("no executable's `network` lists `%s`, so nothing could use this secret; list it where it is needed", place))
	}
	return place
}

// outside refuses a file that lies where programs have something to do with it.
func (b *builder) outside(file Text, why string, dirs []Text) {
	for _, dir := range dirs {
		if file.Given() && (file.Value == dir.Value || strings.HasPrefix(file.Value, strings.TrimSuffix(dir.Value, "/")+"/")) {
			b.fault(file.Source(), fmt.Sprintf("this file lies inside %s, which %s; keep it elsewhere", dir.Value, why))
			return
		}
	}
}

// What a program that says a secret may take, where nothing less is said.
const (
	providerTimeout = paddock.Duration(10 * time.Second)
	providerOutput  = 8<<10 + 2 // of the longest value, and a line's end
)

// exec reads who says a secret; nil where a file holds it.
func (b *builder) exec(v *shape.Value, f *File) *form.Exec {
	argv := v.Get("exec").Items()
	if len(argv) == 0 {
		return nil
	}
	x := &form.Exec{Argv: b.texts(v.Get("exec")), Read: b.paths(v.Get("read")), Cache: b.duration(v.Get("cache")), Executable: Executable{
		At: b.at(v.Get("exec")), Path: b.clean(argv[0]), SHA256: b.text(v.Get("sha256")), Any: true, ArgsAt: b.at(v.Get("exec")), LineBreaks: true, MaxArgs: len(argv) + 1, MaxArgBytes: maxArgBytes,
		Environment: b.environment(v.Get("environment")), Limits: Limits{Timeout: cmp.Or(b.duration(v.Get("timeout")), providerTimeout), Output: providerOutput},
	}}
	for _, e := range v.Pairs() {
		if b.text(e.Key).Value == "exec" {
			x.At = b.at(e.Key)
		}
	}
	if p := x.Executable.Path.Value; !path.IsAbs(p) || p == "/" {
		b.fault(argv[0], "want the absolute path of a program first; PATH is never searched")
	}
	for _, item := range v.Get("network").Items() {
		x.Executable.Network = append(x.Executable.Network, b.reach(item))
	}
	switch level := f.Containment.Require; {
	case level == paddock.Off && len(x.Read) > 0:
		b.fault(v.Get("read"), "`require: off` contains nothing, so `read` would promise what isn't kept; remove it")
	case level != "" && level != paddock.Full && len(x.Executable.Network) > 0:
		b.fault(v.Get("network"), "only `require: full` gives a program a network of its own; remove the list")
	}
	return x
}
