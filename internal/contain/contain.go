// Package contain works out what holds a run, and says it in values.
//
// [Probe] looks at the machine once. [NewPlan] turns what was granted and what
// the machine can do into lists of prepared system calls, or into the one thing
// that is missing: less than was asked for is never planned. Package spawn
// carries the lists out, in a child that is about to become the program.
//
// # Limits
//
// The package starts nothing and decides nothing about policies. It can't tell
// whether a namespace will be given without asking for one: package spawn asks.
// On other systems than Linux it knows of no level, so that nothing runs there.
package contain

import "paddock"

// Grounds reports whether the tree of a run of root that is held so builds upon a
// ground, as far as that can be told before it is planned.
func Grounds(held paddock.ContainAs) bool {
	return held.Level == paddock.Full && held.Network != "host" && held.Account == nil && len(held.Read) == 0 && held.Workspace != paddock.OverlayWorkspace
}
