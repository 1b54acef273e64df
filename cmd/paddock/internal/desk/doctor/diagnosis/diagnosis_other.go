//go:build !linux

package diagnosis

import "runtime"

// Facts says that this isn't the system for it.
func Facts(string) []Fact {
	return []Fact{{"system", runtime.GOOS, "This version starts programs on Linux only."}}
}
