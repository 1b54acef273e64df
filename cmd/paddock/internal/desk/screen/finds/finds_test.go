package finds

import (
	"fmt"
	"strings"
	"testing"

	"paddock"
)

func plain(s string) string { return strings.ReplaceAll(s, "\x1b", "ESC") }

// What was found is told in bounded, harmless words, and that nobody looked as well.
func TestWords(t *testing.T) {
	t.Parallel()
	run := func(mode string, d *paddock.Deeper) paddock.Run {
		return paddock.Run{ID: "r", Enforced: &paddock.Enforced{Deeper: mode}, Outcome: &paddock.Outcome{Deeper: d}}
	}
	d := &paddock.Deeper{Unlooked: "\x1b", More: 2}
	for i := range 30 {
		d.Found = append(d.Found, paddock.Found{Path: "\x1b", Change: "changed", Kind: "file", Why: "\x1b", Quarantined: i%2 == 0})
	}
	lines := Lines(run(paddock.QuarantineDeeper, d), plain)
	if text := fmt.Sprint(lines); len(lines) != mostFound+2 || strings.Contains(text, "\x1b") || !strings.Contains(text, "and 12 others") || !strings.Contains(text, "moved to the quarantine") {
		t.Error(text)
	}
	warnings := strings.Join(Warnings(run(paddock.QuarantineDeeper, d), plain), "\n")
	if !strings.Contains(warnings, "17 places that other tools would") || !strings.Contains(warnings, "15 places that other tools execute") || !strings.Contains(warnings, "not all of the workspace") || strings.Contains(warnings, "\x1b") {
		t.Error(warnings)
	}
	mounted := run(paddock.QuarantineDeeper, &paddock.Deeper{Unlooked: `"x": ` + paddock.MountUnlooked})
	if Warnings(mounted, plain) != nil || len(Lines(mounted, plain)) != 1 {
		t.Error("what is so for every run is warned of, or isn't told")
	}
	for mode, want := range map[string]int{"": 0, paddock.IgnoreDeeper: 0, paddock.ReportDeeper: 1} {
		if got := Lines(run(mode, nil), plain); len(got) != want || Warnings(run(mode, nil), plain) != nil {
			t.Errorf("%q: %v", mode, got)
		}
	}
	if Lines(paddock.Run{}, plain) != nil || Deeper("") != nil || len(Deeper("another")) != 1 {
		t.Error("something is said of nothing")
	}
}
