package parse

import (
	"fmt"
	"strings"
)

// Oldest is the oldest version of git that has all the options that are used.
const Oldest = "2.32"

// Supported reads what `git --version` prints. ok is false where that isn't what git
// prints.
func Supported(said string) (old, ok bool) {
	var major, minor, wantMajor, wantMinor int
	version, isGit := strings.CutPrefix(said, "git version ")
	if n, err := fmt.Sscanf(version, "%d.%d", &major, &minor); !isGit || err != nil || n != 2 || major < 0 || minor < 0 {
		return false, false
	}
	if _, err := fmt.Sscanf(Oldest, "%d.%d", &wantMajor, &wantMinor); err != nil {
		return false, false
	}
	return major < wantMajor || major == wantMajor && minor < wantMinor, true
}
