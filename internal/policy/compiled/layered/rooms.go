package layered

import (
	"maps"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
)

// Room is what of f judges the requests of a room: the git tools, delegates, or who
// says the secret whose name follows [paddock.SecretRoom]; nil where f says nothing of it.
func Room(f compiled.File, room string) *compiled.File {
	var of *compiled.File
	name, provides := strings.CutPrefix(room, paddock.SecretRoom)
	switch {
	case provides:
		of = f.Providers[name]
	case room == "git":
		of = f.Git
	case strings.HasPrefix(room, "delegate") && f.Delegates != nil && f.Delegates.Agents:
		of = f.Delegates.Of(strings.TrimPrefix(room, "delegate/"))
	}
	if of == nil {
		return nil
	}
	file := *of
	file.Digest = f.Digest
	return &file
}

// providers narrows what programs that say secrets may: they are the policy's own, so
// its rules aren't about them, but whatever narrows it is.
func (n *narrowing) providers(f compiled.File) {
	if f.Providers == nil {
		return
	}
	n.out.Providers = map[string]*compiled.File{}
	for name, was := range f.Providers {
		p, x := *was, was.Executables[0]
		words, barred := map[string]*compiled.Executable{}, maps.Clone(was.Barred)
		var own *compiled.Executable
		if n.part.Says["executables"] {
			own = n.part.Find([]string{x.Path})
		}
		if why := n.bars(own, x); n.part.Says["executables"] && why != "" {
			if barred == nil {
				barred = map[string]compiled.Bar{}
			}
			barred[x.Path] = compiled.Bar{At: n.at(own), Why: why}
		} else if was.Called()[x.Path] != nil {
			narrow := *n
			x = narrow.executable(*was, x, own)
			n.faults = narrow.faults
			words[x.Path] = x
		}
		p.Rules, p.Limits = slices.Concat(was.Rules, n.part.Rules), x.Limits
		p = p.Left([]*compiled.Executable{x}, words)
		p.Barred = barred
		n.provided(was.Contain, &p.Contain)
		n.out.Providers[name] = &p
	}
}

// provided has a provider contained as what narrows the policy demands, too.
func (n *narrowing) provided(was paddock.ContainAs, as *paddock.ContainAs) {
	as.Level, as.RunAs = n.out.Contain.Level, n.out.Contain.RunAs
	if as.Level == paddock.Off {
		return
	}
	as.ReadOnly = true
	if n.part.Contain.Network == "none" || was.Level == paddock.Off {
		as.Network = "none"
	}
	if n.part.Says["containment.read"] {
		as.Read = within(was.Read, slices.Concat(n.part.Contain.Read, n.part.Contain.Write))
	}
}
