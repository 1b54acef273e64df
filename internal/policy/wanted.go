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
	w := Wanted{HostEnv: slices.Clone(p.file.Environment.Pass), Secrets: slices.Clone(p.file.Secrets)}
	for name, token := range p.file.Environment.Accept {
		if value, ok := req.Command.Env[name]; ok && token.IsPath() && token.Match(value) {
			w.Paths = append(w.Paths, value)
		}
	}
	e := p.file.Find(req.Command.Argv)
	if e == nil {
		w.Paths, w.HostEnv = sorted(w.Paths), sorted(w.HostEnv)
		return w
	}
	w.Executable, w.Pinned, w.Pins = e.Path, e.Pin != "", p.file.Pins()
	w.HostEnv = append(w.HostEnv, e.Environment.Pass...)
	if args := req.Command.Argv[1:]; len(args) < e.MaxArgs { // else the rules aren't asked
		for _, r := range e.Candidates(args) {
			if !r.Deny && r.Rule.WantsPaths() {
				w.Paths = append(w.Paths, r.Rule.Paths(args)...)
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
