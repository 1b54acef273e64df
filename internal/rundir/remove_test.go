//go:build linux

package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/testproc"
)

// A run is removed all at once: a crash leaves it whole or gone, and its key
// stands for it or is free. Runs beside it stay.
func TestCrashWhileRemoving(t *testing.T) {
	t.Parallel()
	for step, gone := range map[string]bool{"unseen": false, "gone": true, "forgotten": true} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d, other := prepare(t, s, newID(t, 0), intent(alice)), start(t, s, 1, alice)
			publish(t, s, d, "key")
			settle(t, d)
			if err := testproc.Alone(d.ReleaseLock); err != nil {
				t.Fatal(err)
			}
			reconcile(t, s)
			output(t, "remover", s.Path(), string(d.ID()), step)
			_, err := s.Run(d.ID())
			if gone != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Run: %v; gone is %v", err, gone)
			}
			if !gone {
				if r, err := d.Record(clock()); err != nil || !r.State.Settled() {
					t.Errorf("Record = %v, %v", r.State, err)
				}
			}
			claim(t, s, func(c *Claim) error {
				_, _, found, err := c.Key(alice, "key")
				if found == gone {
					t.Errorf("the key was found: %v; gone is %v", found, gone)
				}
				return err
			})
			reconcile(t, s)
			if left := names(t, filepath.Join(s.Path(), tmpDir)); left != nil {
				t.Errorf("tmp still has %v", left)
			}
			if left := names(t, filepath.Join(s.Path(), links.KeysDir)); (len(left) == 0) != gone {
				t.Errorf("keys: %v; gone is %v", left, gone)
			}
			if _, err := s.Run(other.ID()); err != nil {
				t.Error(err)
			}
			if gone { // and the key may be used anew
				publish(t, s, prepare(t, s, newID(t, 2), intent(alice)), "key")
			}
		})
	}
}

// remover removes a run and dies after the step that it is told.
func remover() int {
	s, err := Open(os.Args[1])
	if err != nil {
		return fail(err)
	}
	s.step = func(step string) {
		if step == os.Args[3] {
			os.Exit(0)
		}
	}
	d, err := OpenRun(filepath.Join(s.Path(), runsDir, "20261129", os.Args[2]))
	if err != nil {
		return fail(err)
	}
	return fail(errors.Join(s.Remove(context.Background(), d, alice, "key"), errors.New("the step never came")))
}
