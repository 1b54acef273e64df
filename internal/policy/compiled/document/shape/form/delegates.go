package form

import "paddock"

// Delegates is what agents may be started on a caller's behalf. At is zero where the
// section is absent.
type Delegates struct {
	At        paddock.Position
	Agents    bool // launch permits agents
	Providers []Provider
	// Concurrent, Depth and Wait have their defaults.
	Concurrent, Depth int
	Wait              paddock.Duration
}

// A Provider is one agent: its program, and all its words but the first.
type Provider struct {
	At         paddock.Position // of what is said of it
	Executable Executable
	Args       []string
	// Tools are the tools of Paddock that it has, by their names.
	Tools []string
}
