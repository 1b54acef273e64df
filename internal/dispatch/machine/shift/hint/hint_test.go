package hint_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/dispatch/machine/shift/hint"
)

// Who waits looks at once, when the bell is rung, and at each tick; the end of the time is
// another thing than what goes wrong, at whatever moment.
func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("it is broken")
		for what, c := range map[string]struct {
			rung, takes time.Duration
			done        int
			fails       bool
			want        error
			looks       int
			over        time.Duration
		}{
			"seen at once":               {done: 1, looks: 1},
			"seen at the tick":           {done: 2, looks: 2, over: time.Second},
			"seen when it is rung":       {rung: 300 * time.Millisecond, done: 2, looks: 2, over: 300 * time.Millisecond},
			"never":                      {want: hint.ErrOver, looks: 3, over: 2500 * time.Millisecond},
			"it fails":                   {fails: true, want: bad, looks: 1},
			"it fails when time is over": {takes: time.Minute, fails: true, want: bad, looks: 1, over: time.Minute},
		} {
			var bell hint.Bell
			limited, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			if c.rung > 0 {
				time.AfterFunc(c.rung, bell.Ring)
			}
			begun, looks := time.Now(), 0
			err := bell.Until(limited, time.Second, func() (bool, error) {
				looks++
				<-time.After(c.takes)
				if c.fails {
					return false, bad
				}
				return looks == c.done, nil
			})
			if !errors.Is(err, c.want) || looks != c.looks || time.Since(begun) != c.over {
				t.Errorf("%s: %v after %d looks and %v", what, err, looks, time.Since(begun))
			}
			if told := hint.Over(t.Context(), err); errors.Is(err, hint.ErrOver) != (err != nil && told == nil) {
				t.Errorf("%s is told as %v", what, told)
			}
			cancel()
			if err := hint.Over(limited, hint.ErrOver); !errors.Is(err, limited.Err()) {
				t.Errorf("%s, of who has gone: %v", what, err)
			}
		}
	})
}
