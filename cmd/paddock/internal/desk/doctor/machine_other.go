//go:build !linux

package doctor

import "runtime"

func (d commands) machine() []Fact {
	return []Fact{{"system", runtime.GOOS, "This version starts programs on Linux only."}}
}
