package layered

import (
	"maps"

	"paddock"
	"paddock/internal/policy/compiled"
)

// delegateVariable is how an agent is told which delegate it is.
const delegateVariable = "PADDOCK_DELEGATE"

// delegates compiles the agents that a whole policy lists, by what it says of all
// programs: its roots, rules, limits, environment and containment.
func delegates(name string, source compiled.Document) (*compiled.Delegates, []compiled.Fault) {
	d := source.Delegates
	if d.At == (paddock.Position{}) {
		return nil, nil
	}
	out := &compiled.Delegates{Agents: d.Agents, Args: map[string][]string{}, Concurrent: d.Concurrent, Depth: d.Depth, Wait: d.Wait}
	source.Executables, source.Tests, source.Narrow = nil, nil, nil
	source.Git = compiled.Document{}.Git
	for _, p := range d.Providers {
		source.Executables = append(source.Executables, p.Executable)
		out.Names = append(out.Names, p.Executable.Name.Value)
		out.Args[p.Executable.Name.Value] = p.Args
	}
	file, faults := compiled.Compile(name, source, nil)
	file.Environment.AcceptOnly(delegateVariable)
	out.File = &file
	return out, faults
}

// delegates narrows what agents may by everything but the list of programs, which
// isn't about them.
func (n *narrowing) delegates(f compiled.File) {
	if f.Delegates == nil {
		return
	}
	part := n.part
	part.Says = maps.Clone(part.Says)
	delete(part.Says, "executables")
	part = part.Left(nil, nil)
	d := *f.Delegates
	file, faults := Narrow(*d.File, part)
	n.faults = append(n.faults, faults...)
	file.Environment.Accept, file.Environment.Also = f.Delegates.File.Environment.Accept, f.Delegates.File.Environment.Also
	d.File = &file
	n.out.Delegates = &d
}
