//go:build !linux

package contain

import "paddock"

// A Host is what this machine can do: on this system, nothing.
type Host struct{}

// Probe looks at nothing.
func Probe(...string) Host { return Host{} }

// Levels is empty: this version runs nothing on this system, contained or not.
func (Host) Levels() []paddock.Level { return nil }

// Unavailable says nothing of single levels.
func (Host) Unavailable() map[paddock.Level]string { return nil }

// A Plan is never made here.
type Plan struct{}
