// Package house holds the code to its plan: which package may import which,
// which file may start programs, what must be pure, who the guests are, and how
// large a thing may grow. Its test runs every check over the real tree.
//
// Package source parses a module into a tree, once. Each check is a function
// from a tree to the [Finding] values it has against it, so the same functions
// also run over small trees with a planted violation, and are seen to find it.
// The plan itself is data: plan.go for the floors and reserved imports,
// exceptions.go for what is excused and why, docs/guests.md for dependencies.
//
// # Limits
//
// The checks read syntax. They see every import and every use of a member of an
// imported package, whatever the build tags; they don't see what is reached by
// reflection, through a value of another package, or by a number that stands
// for a system call (so raw system calls are reserved as a whole). They are a
// fence for honest people and a tripwire, not a boundary: containment is that.
package house

import "paddock/internal/house/source"

// A Finding is one violation of the plan.
type Finding = source.Finding
