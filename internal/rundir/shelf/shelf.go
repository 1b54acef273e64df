// Package shelf finds run ids in directories that may hold any number of them.
//
// # Limits
//
// It goes by names and opens no run itself; a name that isn't an id, or isn't a day, is
// passed over.
package shelf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"paddock"
)

const dayForm = "20060102"

// Day names the day of a run: that of its id, in UTC.
func Day(id paddock.RunID) string { return id.Time().Format(dayForm) }

// Days lists the days, as names of directories in dir, that may hold runs made before the run before, newest first.
func Days(dir string, before paddock.RunID) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var days []string
	for _, e := range entries {
		if _, err := time.Parse(dayForm, e.Name()); err != nil {
			continue
		}
		if before == "" || e.Name() <= Day(before) {
			days = append(days, e.Name())
		}
	}
	slices.Reverse(days) // ReadDir sorts
	return days, nil
}

// Newest returns the up to n largest ids in a directory that are less than
// before (if that isn't empty), largest first. Other names are passed over.
func Newest(dir string, before paddock.RunID, n int) ([]paddock.RunID, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	var ids []paddock.RunID
	least := paddock.RunID("") // of those that can still be among the n
	trim := func() {
		slices.Sort(ids)
		slices.Reverse(ids)
		if len(ids) > n {
			ids = ids[:n]
		}
		if len(ids) == n && n > 0 {
			least = ids[n-1]
		}
	}
	for err == nil {
		var names []string
		names, err = f.Readdirnames(1024)
		for _, name := range names {
			if paddock.RunID(name) < least {
				continue
			}
			id, bad := paddock.ParseRunID(name)
			if bad == nil && (before == "" || id < before) {
				ids = append(ids, id)
			}
		}
		if len(ids)/2 >= n { // not 2*n, which overflows
			trim()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	trim()
	return ids, nil
}

// Unreadable is the error of a listing that had to leave runs out, with the
// reason for each. What else the listing returned is valid.
type Unreadable struct{ Runs []error }

func (e *Unreadable) Error() string {
	return fmt.Sprintf("%d runs can't be read: %v", len(e.Runs), errors.Join(e.Runs...))
}

// Unwrap returns the reasons.
func (e *Unreadable) Unwrap() []error { return e.Runs }
