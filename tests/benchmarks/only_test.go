//go:build linux

package benchmarks_test

import (
	"regexp"
	"slices"
	"testing"
)

// What is asked for is measured with what it is told against, there or nowhere, and nothing
// else is.
func TestWhatIsAskedForIsMeasured(t *testing.T) {
	t.Parallel()
	if all := (&sheet{}); slices.ContainsFunc(rows, func(r row) bool { return !all.wants(r.what, r.place) }) {
		t.Error("not every row is measured where none was asked for")
	}
	s := &sheet{wanted: regexp.MustCompile("^paddock run, full tmpfs$|to the end of the program disk$")}
	type thing struct{ what, place string }
	var got []thing
	for _, r := range rows {
		if one := (thing{r.what, r.place}); s.wants(r.what, r.place) && !slices.Contains(got, one) {
			got = append(got, one)
		}
	}
	want := []thing{
		{bwrap, ""}, {runc, ""}, {sandbox, ""}, {floorCLI, ""}, {cliFull, "tmpfs"},
		{toFile, "disk"}, {toWriter, "disk"}, {toSplice, "disk"}, {bankEnd, "disk"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("measured are %v", got)
	}
}
