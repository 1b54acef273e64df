package answer

import (
	"slices"
	"strings"
	"testing"

	"paddock"
)

// A model is told what was moved away and what stayed, in bounded words.
func TestFound(t *testing.T) {
	t.Parallel()
	if got := found(nil); got != nil {
		t.Errorf("%q", got)
	}
	d := &paddock.Deeper{Unlooked: strings.Repeat("u", 5000), More: 7, Found: []paddock.Found{
		{Path: "a\n/.envrc", Change: paddock.FoundAppeared, Quarantined: true},
		{Path: strings.Repeat("p", 5000), Change: paddock.FoundChanged, Why: strings.Repeat("w", 5000)},
	}}
	for range 100 {
		d.Found = append(d.Found, paddock.Found{Path: "x", Change: paddock.FoundUnknown})
	}
	got := found(d)
	if len(got) != mostFound+2 || got[0] != `"a\n/.envrc" appeared and was moved away; the operator can restore it` || got[mostFound] != "and 89 others" {
		t.Errorf("%q", got)
	}
	if i := slices.IndexFunc(got, func(text string) bool { return len(text) > 1100 }); i >= 0 {
		t.Errorf("%d bytes", len(got[i]))
	}
	if run := (paddock.Run{State: paddock.Exited, Outcome: &paddock.Outcome{State: paddock.Exited, Deeper: d}}); len(NewStatus(run, "", Counters{}).Found) != len(got) {
		t.Error("the status doesn't tell")
	}
}
