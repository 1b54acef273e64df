package compiled

import "paddock"

// Delegates says which agents a caller may give tasks to.
type Delegates struct {
	// File judges them: the policy, with them in place of its executables.
	File *File
	// Agents is whether launch permits them. Names are in the order of the file, Args
	// the words after the first.
	Agents            bool
	Names             []string
	Args              map[string][]string
	Concurrent, Depth int
	Wait              paddock.Duration
}
