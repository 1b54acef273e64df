package compiled

import (
	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/environ"
)

// provider makes the file that judges the program which says s, where no file does:
// that program alone, with the arguments of the policy, which nobody else can ask for,
// in a directory of the system's, where it can write nothing. Limits and containment are those
// of f, but for what it may reach and read, and what it prints isn't kept.
func (c *compiler) provider(f *File, s document.Secret) *paddock.Provider {
	if s.Exec == nil {
		return nil
	}
	x := c.executable(s.Exec.Executable, f.Limits, f.Sections["secrets"])
	x.Limits.AtLimit = paddock.AtLimitEnd
	if x.Pin == "" {
		x.Pin = f.Pins()[x.Path]
	}
	out := &File{
		Name: f.Name, Roots: []string{ProvidersRoot}, Executables: []*Executable{x}, pins: f.Pins(), Limits: x.Limits, Concurrent: manyProviders, Reserve: f.Reserve,
		Redact: paddock.Unkept, Sections: map[string]paddock.Position{}, byWord: map[string]*Executable{x.Path: x}, search: environ.Path([]string{x.Path}),
	}
	for _, section := range []string{"roots", "limits", "environment", "containment", "secrets"} {
		out.Sections[section] = f.Sections["secrets"]
	}
	out.Contain = paddock.ContainAs{Level: f.Contain.Level, Network: "none", RunAs: f.Contain.RunAs, Read: values(s.Exec.Read), ReadOnly: f.Contain.Level != paddock.Off}
	switch {
	case f.Contain.Level == paddock.Off:
		out.Contain.Network = "host"
	case len(x.Reach) > 0:
		out.Contain.Network = "allowlist"
	}
	if f.Providers == nil {
		f.Providers = map[string]*File{}
	}
	f.Providers[s.Name.Value] = out
	return &paddock.Provider{Argv: values(s.Exec.Argv), Cache: s.Exec.Cache}
}

// ProvidersRoots is where those work who say secrets; nil where nobody does.
func (f *File) ProvidersRoots() []string {
	if len(f.Providers) == 0 {
		return nil
	}
	return []string{ProvidersRoot}
}

// ProvidersRoot is where providers work. It holds nothing that they would take for a
// configuration, and that anybody but root can change.
const ProvidersRoot = "/usr/share"

// manyProviders bounds how many run at once. Those who ask are bounded themselves.
const manyProviders = 10_000
