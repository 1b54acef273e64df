// Package addenda keeps what became known of a run's end after its outcome was
// written. The outcome stays as it is: later evidence never becomes another state.
//
// Each addendum is a file of its own beside the outcome, addendum.1.json and so
// on, put in place whole and never changed.
//
// # Limits
//
// It believes what it is given. Of one run it keeps at most nine.
package addenda

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/outcome"
)

// most bounds how many a run has: of each supervisor there is one outcome.
const most = 9

type file struct {
	Version  int              `json:"version"`
	Addendum paddock.Addendum `json:"addendum"`
}

func (f *file) FileVersion() int { return f.Version }

// Name is that of the nth addendum's file, from one.
func Name(n int) string { return fmt.Sprintf("addendum.%d.json", n) }

// Of returns the addenda of the run in dir, oldest first.
func Of(dir string) ([]paddock.Addendum, error) {
	var all []paddock.Addendum
	for n := 1; n <= most; n++ {
		var f file
		err := durable.ReadJSON(filepath.Join(dir, Name(n)), &f)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f.Addendum)
	}
	return all, nil
}

// Add writes durably down what became known of the end of the run in dir. That
// the same outcome is there already is fine: then added is false.
func Add(dir string, a paddock.Addendum) (added bool, err error) {
	b, err := durable.EncodeJSON(file{durable.Version, a}, false)
	if err != nil {
		return false, fmt.Errorf("addendum: %w", err)
	}
	for n := 1; n <= most; n++ {
		name := filepath.Join(dir, Name(n))
		first, err := durable.Publish(name, b)
		if first || err != nil {
			return first, err
		}
		var there file
		if err := durable.ReadJSON(name, &there); err != nil {
			return false, err
		}
		if same(there.Addendum.Outcome, a.Outcome) {
			return false, nil
		}
	}
	return false, fmt.Errorf("%s has %d addenda already", dir, most)
}

// same compares what two outcomes say, in the only form that lasts.
func same(a, b paddock.Outcome) bool {
	textA, errA := durable.EncodeJSON(a, false)
	textB, errB := durable.EncodeJSON(b, false)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

// Gather adds the outcomes that were written and never put in place, because who
// wrote them was ended in between, and not the one that is the run's outcome. What
// isn't a whole outcome is passed over: it says nothing. Only one who knows that
// nobody is about to place one may call it.
func Gather(dir string, is paddock.Outcome, now time.Time) (added int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), durable.TempPrefix) || !e.Type().IsRegular() {
			continue
		}
		found, readErr := outcome.Read(filepath.Join(dir, e.Name()))
		if readErr != nil || found == nil || same(*found, is) {
			continue
		}
		a := paddock.Addendum{At: now, Source: paddock.FromLeftover, Note: "written and not put in place: its writer was ended in between", Outcome: *found}
		first, addErr := Add(dir, a)
		if err = errors.Join(err, addErr); first {
			added++
		}
	}
	return added, err
}
