// Package waiters notes beside a question which runs wait for its answer, so that a
// question that nobody waits for any more is known.
//
//	STATE/approvals/ID/wait-RUN.json  that the run began to wait
//
// # Limits
//
// A note is never taken back: whether the run still waits is said by the run itself, to
// whoever reads the notes.
package waiters

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// note is the form of a file.
type note struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
}

// Add notes that run waits for the question that is kept in dir. Again is as once.
func Add(dir string, run paddock.RunID, now time.Time) error {
	text, err := durable.EncodeJSON(note{durable.Version, now.UTC()}, true)
	if err == nil {
		_, err = durable.Publish(filepath.Join(dir, name(run)), text)
	}
	return err
}

func name(run paddock.RunID) string { return "wait-" + string(run) + ".json" }

// Of returns the runs that are noted in dir, the oldest first.
func Of(dir string) ([]paddock.RunID, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, durable.IgnoreMissing(err)
	}
	var runs []paddock.RunID
	for _, e := range entries {
		of, is := strings.CutPrefix(e.Name(), "wait-")
		of, ends := strings.CutSuffix(of, ".json")
		if id, err := paddock.ParseRunID(of); is && ends && err == nil {
			runs = append(runs, id)
		}
	}
	slices.Sort(runs)
	return runs, nil
}

// Mark says in a, whose notes are in dir, which runs wait for it, and which did and
// wait no more without having been started by it.
func Mark(a *paddock.Approval, dir string, waits func(paddock.RunID) (bool, error)) error {
	runs, err := Of(dir)
	if err != nil {
		return err
	}
	for _, run := range runs {
		switch still, err := waits(run); {
		case err != nil:
			return err
		case slices.Contains(a.Used, run):
		case still:
			a.Waits = append(a.Waits, run)
		default:
			a.Ended = append(a.Ended, run)
		}
	}
	return nil
}
