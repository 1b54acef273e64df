// Package losses notes what of a run's output was dropped while it goes on, for
// those who look meanwhile and for whoever finds that nobody looks after it.
//
// # Limits
//
// The note is at most as old as its writer says, and a power cut may take it along,
// as it does the run. The outcome says it for good.
package losses

import (
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

type file struct {
	Version int            `json:"version"`
	Losses  []paddock.Loss `json:"losses"`
}

func (f *file) FileVersion() int { return f.Version }

// Note writes down what the run in dir has lost so far.
func Note(dir string, all []paddock.Loss) error {
	b, err := durable.EncodeJSON(file{durable.Version, all}, false)
	if err != nil {
		return err
	}
	return durable.Place(name(dir), b)
}

// Read returns what was noted last: at least so much was dropped.
func Read(dir string) ([]paddock.Loss, error) {
	var f file
	err := durable.ReadJSON(name(dir), &f)
	return f.Losses, durable.IgnoreMissing(err)
}

// Add adds to the streams of a run without an outcome what was noted.
func Add(dir string, stdout, stderr *paddock.StreamSummary) error {
	all, err := Read(dir)
	for _, l := range all {
		s := stdout
		if l.Stream == paddock.Stderr {
			s = stderr
		}
		s.Dropped, s.Loss = l.Bytes, &l
	}
	return err
}

func name(dir string) string { return filepath.Join(dir, "losses.json") }
