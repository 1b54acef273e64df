//go:build !linux

package lifecycle

import (
	"errors"
	"os"

	"paddock"
)

// A Cgroup is never made here.
type Cgroup struct{}

// EndCgroup has nothing to end where there are no cgroups.
func EndCgroup(string) error { return nil }

// Holdable lists nothing: no limit can be enforced where nothing runs.
func Holdable(paddock.Level) (names []string, why string) { return nil, "" }

// Supervisors fails: there are no cgroups on this system.
func Supervisors() (*os.File, error) { return nil, errors.ErrUnsupported }

// Groups lists nothing: there are no cgroups on this system.
func Groups() ([]string, error) { return nil, nil }
