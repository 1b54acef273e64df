// Package workspace keeps a run's writes to its root out of the root: the run
// sees the root, and what it changes lands in a layer of its own, or, where the
// kernel can't lay one over the root, in a copy. What changed is found out
// afterwards, against a list of what was there at the start.
//
// All of it is in the run's directory, below workspace:
//
//	about.json   which root, and which means
//	base         what was in the root when the run began
//	upper, work  the layer, and what the kernel needs beside it
//	copy, start  or the copy, and what was in it when the run began
//
// # Limits
//
// The package mounts nothing; package contain plans that. It doesn't keep others
// from writing to the root meanwhile: what they change is seen when the run's
// changes are brought there. Linux only.
package workspace

import (
	"errors"

	"paddock/internal/workspace/apply/tree/change"
)

// The means of keeping writes apart.
const (
	Overlay = "overlay"
	Copy    = "copy"
)

// Bounds of what is kept apart. A run whose root has more can't start.
const (
	mostFiles = 1_000_000
	// mostCopied holds also where blocks are shared, which can't be known before.
	mostCopied  = 4 << 30
	copiedFiles = 200_000
)

// dirName is the directory's name in that of the run.
const dirName = "workspace"

// ErrGone is the error of asking for what a run changed when that isn't kept:
// it was discarded, or never was kept apart.
var ErrGone = errors.New("the run's changes aren't kept")

// ErrMoved is the error when the root isn't the directory any more that the run
// saw.
var ErrMoved = errors.New("the root is another directory than the run saw")

// Changes are what a run did to its root.
type Changes struct {
	All []change.Change
	// There are further ones that the root has by now.
	There []change.Change
	// Unreadable are directories that can't be looked into.
	Unreadable []string
}
