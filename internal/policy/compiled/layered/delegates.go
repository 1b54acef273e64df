package layered

import (
	"maps"

	"paddock"
	"paddock/internal/policy/compiled"
)

// The variables by which an agent is told which delegate it is, and by which of its
// descriptors it has tools.
const (
	delegateVariable = "PADDOCK_DELEGATE"
	doorVariable     = "PADDOCK_DOOR"
)

// delegates compiles the agents that a whole policy lists, by what it says of all
// programs: its roots, rules, limits, environment and containment.
func delegates(name string, source compiled.Document) (*compiled.Delegates, []compiled.Fault) {
	d := source.Delegates
	if d.At == (paddock.Position{}) {
		return nil, nil
	}
	out := &compiled.Delegates{Agents: d.Agents, Args: map[string][]string{}, Tools: map[string][]string{}, Concurrent: d.Concurrent, Depth: d.Depth, Wait: d.Wait}
	source.Executables, source.Tests, source.Narrow = nil, nil, nil
	source.Git = compiled.Document{}.Git
	for _, p := range d.Providers {
		source.Executables = append(source.Executables, p.Executable)
		out.Names = append(out.Names, p.Executable.Name.Value)
		out.Args[p.Executable.Name.Value], out.Tools[p.Executable.Name.Value] = p.Args, p.Tools
	}
	file, faults := compiled.Compile(name, source, nil)
	file.Environment.AcceptOnly(delegateVariable, doorVariable)
	out.File = &file
	return out, faults
}

// scope makes what judges the providers that are narrowed.
func scope(f *compiled.File) (faults []compiled.Fault) {
	if f.Delegates == nil {
		return nil
	}
	f.Delegates.Scoped = map[string]*compiled.File{}
	for _, n := range f.Narrow {
		if n.Provider != "" {
			file, wrong := agents(f.Delegates.File, n.Part)
			f.Delegates.Scoped[n.Provider] = file
			faults = append(faults, wrong...)
		}
	}
	return faults
}

// agents narrows what agents may by everything but the list of programs, which isn't
// about them.
func agents(of *compiled.File, part compiled.File) (*compiled.File, []compiled.Fault) {
	part.Says = maps.Clone(part.Says)
	delete(part.Says, "executables")
	part = part.Left(nil, nil)
	file, faults := Narrow(*of, part)
	file.Environment.Accept, file.Environment.Also = of.Environment.Accept, of.Environment.Also
	return &file, faults
}

// delegates narrows what agents may.
func (n *narrowing) delegates(f compiled.File) {
	if f.Delegates == nil {
		return
	}
	d := *f.Delegates
	file, faults := agents(d.File, n.part)
	n.faults = append(n.faults, faults...)
	d.File, d.Scoped = file, map[string]*compiled.File{}
	for name, scoped := range f.Delegates.Scoped {
		d.Scoped[name], faults = agents(scoped, n.part)
		n.faults = append(n.faults, faults...)
	}
	n.out.Delegates = &d
}
