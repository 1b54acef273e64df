//go:build !linux

package contain

import "paddock"

// Levels is empty: this version runs nothing on this system, contained or not.
func Levels() []paddock.Level { return nil }
