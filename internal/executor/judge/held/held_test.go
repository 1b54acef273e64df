package held

import (
	"testing"
	"time"

	"paddock"
)

// What was found of the machine is believed for a moment, and no longer.
func TestWhatCanBeHeldIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	then := time.Unix(1_000, 0)
	for _, why := range []string{"", "something is wrong"} {
		most := map[bool]time.Duration{true: longer, false: lookAgain}[why == ""]
		lookedAtAgain(t, then, why, most)
	}
}

func lookedAtAgain(t *testing.T, then time.Time, why string, most time.Duration) {
	t.Helper()
	h := Held{found: map[paddock.Level]holdable{paddock.Off: {names: []string{"made up"}, why: why, at: then}}}
	for _, c := range []struct {
		at    time.Time
		level paddock.Level
		made  bool
	}{
		{then, paddock.Off, true},
		{then.Add(most - 1), paddock.Off, true},
		{then, paddock.Full, false},
		{then.Add(most), paddock.Off, false},
		{then.Add(-time.Hour), paddock.Off, false}, // the clock was set back
	} {
		names, _ := h.At(c.level, c.at)
		if made := len(names) == 1 && names[0] == "made up"; made != c.made {
			t.Errorf("%s, %s later: %q", c.level, c.at.Sub(then), names)
		}
		if !c.made && c.level == paddock.Off {
			h.found[paddock.Off] = holdable{names: []string{"made up"}, why: why, at: then}
		}
	}
}
