package layered

import (
	"slices"

	"paddock"
	"paddock/internal/policy/compiled"
)

// Wanted lists what must be known of the machine to judge req.
type Wanted struct {
	// Executable is the policy's absolute path for argv[0]; empty if the word
	// isn't permitted. Pinned asks for its digest.
	Executable string
	Pinned     bool
	Pins       map[string]paddock.Digest // of every pinned path: scripts lead to others
	// Paths are arguments that a rule may have to take as paths inside a root.
	Paths []string
	// HostEnv names the variables that the policy passes on from the host.
	HostEnv []string
	// Secrets are the policy's, each with its file and where it goes.
	Secrets []paddock.Injection
	// Given are those that programs get as variables.
	Given []paddock.Given
}

// Wants tells what to look up before req is judged by f.
func Wants(f *compiled.File, req paddock.Request) Wanted {
	w := Wanted{HostEnv: slices.Clone(f.Environment.Pass), Secrets: slices.Clone(f.Secrets), Given: slices.Clone(f.Given)}
	w.Paths = append(w.Paths, wantedOf(f, req)...)
	e := f.Find(req.Command.Argv)
	if e == nil {
		w.Paths, w.HostEnv = sorted(w.Paths), sorted(w.HostEnv)
		return w
	}
	w.Executable, w.Pinned, w.Pins = e.Path, e.Pin != "", f.Pins()
	w.HostEnv = append(w.HostEnv, e.Environment.Pass...)
	w.Paths = append(w.Paths, wantedBy(e, req)...)
	for i := range f.Narrow { // which hold is known only when the directory is
		n := &f.Narrow[i]
		if !n.Holds(req.Principal, "") {
			continue
		}
		w.Paths = append(w.Paths, wantedOf(&n.Part, req)...)
		if x := n.Part.Find(req.Command.Argv); x != nil {
			w.Paths = append(w.Paths, wantedBy(x, req)...)
			w.Pinned = w.Pinned || x.Pin != ""
			if x.Pin != "" && w.Pins[x.Path] == "" {
				w.Pins[x.Path] = x.Pin
			}
		}
	}
	w.Paths, w.HostEnv = sorted(w.Paths), sorted(w.HostEnv)
	return w
}

// wantedOf returns the values of variables that may have to be paths.
func wantedOf(f *compiled.File, req paddock.Request) (paths []string) {
	for name, token := range f.Environment.Accept {
		value, asked := req.Command.Env[name]
		if !asked {
			continue
		}
		for _, t := range append([]compiled.Token{token}, f.Environment.Also[name]...) {
			if t.IsPath() && t.Match(value) {
				paths = append(paths, value)
			}
		}
	}
	return paths
}

// wantedBy returns the arguments that may have to be paths.
func wantedBy(e *compiled.Executable, req paddock.Request) (paths []string) {
	args := req.Command.Argv[1:]
	if len(args) >= e.MaxArgs { // then the rules aren't asked
		return nil
	}
	for _, layer := range e.Asked() {
		for _, r := range layer.Candidates(args) {
			if !r.Deny && r.Rule.WantsPaths() {
				paths = append(paths, r.Rule.Paths(args)...)
			}
		}
	}
	return paths
}

// sorted sorts words in place and keeps each once.
func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
