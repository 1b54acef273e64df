package boot

import "testing"

func TestTheClockGoesOn(t *testing.T) {
	t.Parallel()
	if a, b := Clock(), Clock(); a <= 0 || b < a {
		t.Errorf("%v, then %v", a, b)
	}
}
