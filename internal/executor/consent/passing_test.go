package consent

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"paddock"
)

// What tells of us, or of a moment, settles nothing that waits.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("claiming: %w", syscall.EMFILE), true},
		{fmt.Errorf("reading: %w", syscall.EIO), true},
		{fmt.Errorf("%w: x", paddock.ErrFault), true},
		{context.Canceled, true},
		{paddock.Refused(paddock.Busy, "full"), true},
		{paddock.Refused(paddock.NoPolicy, "none"), true},
		{paddock.Refused(paddock.ArgumentsNotAllowed, "no"), false},
		{errors.New("the policy is different now"), false},
	} {
		if got := passing(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
