package crew

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/store"
)

type open struct{ Queue }

// A worker that begins while its database is away waits for it, says so once, and ends
// when it is asked to; what waiting doesn't help it says at once.
func TestReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		d := &desk.Desk{Screen: screen.Screen{Err: &said}}
		tries := 0
		rig := Rig{Open: func(context.Context, string) (Queue, Hints, error) {
			if tries++; tries < 4 {
				return nil, nil, fmt.Errorf("%w: nobody there", store.ErrAway)
			}
			return open{}, nil, nil
		}}
		if q, _, err := reach(t.Context(), d, rig, "file"); err != nil || q == nil || tries != 4 || strings.Count(said.String(), "nobody there") != 1 {
			t.Errorf("%v, %v after %d tries\n%s", q, err, tries, said.String())
		}
		ctx, cancel := context.WithCancel(t.Context())
		rig.Open = func(context.Context, string) (Queue, Hints, error) { cancel(); return nil, nil, store.ErrAway }
		if q, _, err := reach(ctx, d, rig, "file"); q != nil || err != nil {
			t.Errorf("%v, %v", q, err)
		}
		rig.Open = func(context.Context, string) (Queue, Hints, error) { return nil, nil, store.ErrOpen }
		if q, _, err := reach(t.Context(), d, rig, "file"); q != nil || !errors.Is(err, store.ErrOpen) {
			t.Errorf("%v, %v", q, err)
		}
	})
}
