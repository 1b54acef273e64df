// Package outcome is the file that says how a run ended. It is put in place
// whole, once, and never changed.
//
// # Limits
//
// It doesn't ask who may say how a run ended: whoever holds the run's lock.
package outcome

import (
	"fmt"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/outcome/reserve"
)

// Name is the file's.
const Name = "outcome.json"

// A File is the JSON of it.
type File struct {
	Version int             `json:"version"`
	Outcome paddock.Outcome `json:"outcome"`
}

// FileVersion implements durable.Versioned.
func (f *File) FileVersion() int { return f.Version }

// Settled says whether the run in dir has an outcome, without reading it.
func Settled(dir string) (bool, error) { return durable.Exists(filepath.Join(dir, Name)) }

// Publish writes the outcome of the run in dir, durably and all at once, and the
// file along with it if that exists. The first outcome is the run's for ever:
// first is false when there was one, and o is not written then.
func Publish(dir string, o paddock.Outcome, along string) (first bool, err error) {
	p, err := Prepare(dir, o, along)
	if err != nil {
		return false, err
	}
	return p.Publish()
}

// Prepare does of [Publish] all that nobody sees, in the room that was taken for it.
func Prepare(dir string, o paddock.Outcome, along string) (*durable.Pending, error) {
	name := filepath.Join(dir, Name)
	if !o.State.Settled() {
		return nil, fmt.Errorf("%s: %q isn't the state of a settled run", name, o.State)
	}
	b, err := durable.EncodeJSON(File{durable.Version, o}, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := reserve.Free(dir); err != nil {
		return nil, err
	}
	return durable.Prepare(name, b, filepath.Join(dir, along))
}

// Of returns the outcome of the run in dir; nil when it isn't settled.
func Of(dir string) (*paddock.Outcome, error) {
	o, err := Read(filepath.Join(dir, Name))
	return o, durable.IgnoreMissing(err)
}

// Read reads an outcome wherever it is.
func Read(name string) (*paddock.Outcome, error) {
	var f File
	if err := durable.ReadJSON(name, &f); err != nil {
		return nil, err
	}
	if !f.Outcome.State.Settled() {
		return nil, fmt.Errorf("%s has state %q, which isn't that of a settled run", name, f.Outcome.State)
	}
	return &f.Outcome, nil
}
