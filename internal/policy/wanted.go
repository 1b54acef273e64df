package policy

import (
	"slices"

	"paddock"
)

// Wanted tells what to look up before deciding req. A nil Policy wants nothing.
func (p *Policy) Wanted(req paddock.Request) Wanted {
	if p == nil {
		return Wanted{}
	}
	w := Wanted{HostEnv: slices.Clone(p.environment.pass)}
	for name, token := range p.environment.accept {
		if value, ok := req.Command.Env[name]; ok && token.IsPath() && token.Match(value) {
			w.Paths = append(w.Paths, value)
		}
	}
	e := p.find(req)
	if e == nil {
		w.Paths, w.HostEnv = sorted(w.Paths), sorted(w.HostEnv)
		return w
	}
	w.Executable, w.Pinned = e.path, e.pin != ""
	w.HostEnv = append(w.HostEnv, e.environment.pass...)
	if args := req.Command.Argv[1:]; len(args) < e.maxArgs { // else the rules aren't asked
		for _, r := range e.candidates(args) {
			if !r.deny && r.rule.WantsPaths() {
				w.Paths = append(w.Paths, r.rule.Paths(args)...)
			}
		}
	}
	w.Paths, w.HostEnv = sorted(w.Paths), sorted(w.HostEnv)
	return w
}

// sorted sorts words in place and keeps each once.
func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
