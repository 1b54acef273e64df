package survey

import (
	"maps"
	"slices"
	"testing"

	"paddock/internal/contain"
)

// What every program sees is told in two places, which must agree.
func TestSystemDirectories(t *testing.T) {
	t.Parallel()
	host := contain.Probe()
	for _, dir := range slices.Concat(host.Directories, slices.Collect(maps.Keys(host.Links))) {
		if !slices.Contains(system, dir) {
			t.Errorf("every program sees %s, but it would be proposed", dir)
		}
	}
}
