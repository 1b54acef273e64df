// Package finds words what was found of protected places in the root of a run.
//
// # Limits
//
// What isn't printable in names is the business of who calls: the functions are
// given what makes text plain.
package finds

import (
	"fmt"
	"strings"

	"paddock"
)

// mostFound is how many places a run's record shows of those that were found.
const mostFound = 20

// Lines say what a look at the root found of protected places.
func Lines(r paddock.Run, plain func(string) string) [][2]string {
	if r.Outcome == nil || r.Enforced == nil || r.Enforced.Deeper == "" || r.Enforced.Deeper == paddock.IgnoreDeeper {
		return nil
	}
	d := r.Outcome.Deeper
	if d == nil {
		return [][2]string{{"found", "nobody looked for protected places after the run"}}
	}
	var f [][2]string
	for _, place := range d.Found[:min(len(d.Found), mostFound)] {
		text := plain(place.Path) + " " + plain(string(place.Change)) + ", " + plain(place.Kind)
		switch {
		case place.Quarantined:
			text += ", moved to the quarantine"
		case place.Why != "":
			text += ", stayed: " + plain(place.Why)
		}
		f = append(f, [2]string{"found", text})
	}
	if more := len(d.Found) - len(f) + d.More; more > 0 {
		f = append(f, [2]string{"found", fmt.Sprintf("and %d others", more)})
	}
	if d.Unlooked != "" {
		f = append(f, [2]string{"not looked", plain(d.Unlooked)})
	}
	return f
}

// Deeper says what is done about places in the root that nothing protects.
func Deeper(mode string) [][2]string {
	switch mode {
	case "":
		return nil
	case paddock.QuarantineDeeper:
		return [][2]string{{"deeper", "protected places that appear are moved out of the root afterwards"}}
	case paddock.ReportDeeper:
		return [][2]string{{"deeper", "protected places that appear are told afterwards, and stay"}}
	}
	return [][2]string{{"deeper", "nobody looks for protected places that appear"}}
}

// Warnings tell at the end of a run that there is something to look at.
func Warnings(r paddock.Run, plain func(string) string) []string {
	if r.Outcome == nil || r.Outcome.Deeper == nil {
		return nil
	}
	d, moved := r.Outcome.Deeper, 0
	for _, place := range d.Found {
		if place.Quarantined {
			moved++
		}
	}
	var out []string
	if moved > 0 {
		out = append(out, fmt.Sprintf("%s that other tools would execute or obey appeared in the workspace and went to the quarantine; see paddock quarantine %s", places(moved+d.More), r.ID))
	}
	if stayed := len(d.Found) - moved; stayed > 0 {
		out = append(out, fmt.Sprintf("%s that other tools execute or obey changed, or couldn't be moved; see paddock show %s", places(stayed), r.ID))
	}
	if d.Unlooked != "" && !strings.Contains(d.Unlooked, ": "+paddock.MountUnlooked) {
		out = append(out, "not all of the workspace was looked at after the run: "+plain(d.Unlooked))
	}
	return out
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}
