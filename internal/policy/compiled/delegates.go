package compiled

import "paddock"

// Delegates says which agents a caller may give tasks to.
type Delegates struct {
	// File judges them: the policy, with them in place of its executables.
	File *File
	// Scoped has, by its name, the one that judges a provider that is narrowed.
	Scoped map[string]*File
	// Agents is whether launch permits them. Names are in the order of the file, Args
	// the words after the first.
	Agents            bool
	Names             []string
	Args              map[string][]string
	Tools             map[string][]string // of Paddock's, that each has
	Concurrent, Depth int
	Wait              paddock.Duration
}

// Of returns the file that judges the provider called name, which may be none.
func (d *Delegates) Of(name string) *File {
	if scoped := d.Scoped[name]; scoped != nil {
		return scoped
	}
	return d.File
}
