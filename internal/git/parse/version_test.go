package parse

import "testing"

func TestSupported(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][2]bool{
		"git version 2.39.5": {false, true}, "git version " + Oldest + ".0": {false, true}, "git version 2.31.8 (Apple Git-137)": {true, true},
		"git version 1.99": {true, true}, "git version 3.0-rc1": {false, true}, "git version 2": {}, "": {}, "git version": {}, "git version -2.-40": {},
		"tig version 2.5": {}, "git version x.y": {}, "git version 99999999999999999999.1": {},
	} {
		if old, ok := Supported(said); old != want[0] || ok != want[1] {
			t.Errorf("%q: old %t, ok %t", said, old, ok)
		}
	}
}
