package compiled

import (
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/policy/compiled/pattern"
	celrule "paddock/internal/policy/compiled/rule"
)

// A Narrowing is a part of a policy that holds beside the rest for some requests.
type Narrowing struct {
	At paddock.Position
	// Root is set for one that is about a root and all below, Provider for one that
	// is about delegates; else it is about principals, those of Kind, if it isn't
	// empty, whose id ID matches, if any, and about all who work for them.
	Root     string
	Provider string
	Kind     string
	ID       *pattern.Token
	Part     File
	// Text is how the part reads, without layout and comments.
	Text string
}

// Holds reports whether the part holds for what p asks for in root, or may hold
// as long as the root isn't known.
func (n *Narrowing) Holds(p paddock.Principal, root string) bool {
	if n.Root != "" {
		return root == "" || Below(n.Root, root)
	}
	above, provider, works := p.Above()
	if n.Provider != "" {
		return works && (provider == n.Provider || n.Holds(above, root))
	}
	return (n.Kind == "" || n.Kind == string(p.Kind)) && (n.ID == nil || n.ID.Match(p.ID)) || works && n.Holds(above, root)
}

// Judges returns nil if this program can judge by the file and its parts, or
// [celrule.ErrElsewhere].
func (f *File) Judges() error {
	if celrule.Evaluates || len(f.Rules) == 0 && !slices.ContainsFunc(f.Narrow, func(n Narrowing) bool { return n.Part.Judges() != nil }) {
		return nil
	}
	return celrule.ErrElsewhere
}

// A Bar says why a word of the policy isn't permitted.
type Bar struct {
	At  paddock.Position
	Why string
}

// Part compiles what narrows a policy: a file that extends it, a floor. What it
// doesn't say is left as it is.
func Part(name string, source document.File, faults []document.Fault) (File, []document.Fault) {
	c := compiler{faults: faults}
	f := c.part(name, source)
	c.narrowings(&f, source)
	if len(c.faults) > 0 {
		return File{}, c.sorted()
	}
	return f, nil
}

func (c *compiler) part(name string, source document.File) File {
	f := c.file(name, source, source.Limits.Within(paddock.Limits{}))
	f.Says = source.Says
	of := source.Containment
	f.Contain = paddock.ContainAs{Level: of.Require, Network: of.Network, RunAs: of.RunAs, Read: values(of.Read), Write: values(of.Write)}
	if of.Require == paddock.Off {
		f.Contain.Network = "host"
	}
	if of.Workspace == paddock.OverlayWorkspace {
		f.Contain.Workspace = of.Workspace
	}
	c.listed(&f, source)
	return f
}

// narrowings compiles the parts that hold for some requests only.
func (c *compiler) narrowings(f *File, source document.File) {
	for _, n := range source.Narrow {
		out := Narrowing{At: n.At, Root: n.Root.Value, Provider: n.Provider, Kind: n.Kind, Part: c.part(f.Name, n.Part), Text: n.Text}
		if n.ID.Given() {
			token, err := pattern.ParseToken(n.ID.Value)
			if err != nil {
				c.fault(n.ID.At, "%v", err)
			}
			out.ID = &token
		}
		f.Narrow = append(f.Narrow, out)
	}
}

// Left returns f with only these executables, each under those of its words that
// are among words. What the others pin stays pinned.
func (f *File) Left(executables []*Executable, words map[string]*Executable) File {
	out := *f
	out.pins = f.Pins()
	out.Executables, out.byWord = executables, words
	return out
}

// Called returns the executable of each word.
func (f *File) Called() map[string]*Executable { return f.byWord }

// SearchPath is the PATH that programs get.
func (f *File) SearchPath() string { return f.search }

// What whoever puts policies together reads and tells.
type (
	Document = document.File
	Fault    = document.Fault
	Token    = pattern.Token
)

// Read, ReadFloor and Extended are those of package document.
func Read(name string, data []byte) (Document, []Fault)      { return document.Read(name, data) }
func ReadFloor(name string, data []byte) (Document, []Fault) { return document.ReadFloor(name, data) }
func Extended(name string, data []byte) string               { return table.Extended(name, data) }
