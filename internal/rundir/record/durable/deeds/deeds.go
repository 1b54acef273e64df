// Package deeds keeps what was done with the changes of a run that wrote beside
// its workspace.
//
// # Limits
//
// It keeps no order of its own among writers: they hold the lock of the root.
package deeds

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

const name = "deeds.jsonl"

type deedLine struct {
	Version int          `json:"version"`
	Deed    paddock.Deed `json:"deed"`
}

func (f *deedLine) FileVersion() int { return f.Version }

// Add writes durably down what is done with the changes of the run in dir. Only one who
// holds the root's lock may.
func Add(dir string, deed paddock.Deed) error {
	line, err := durable.EncodeJSON(deedLine{durable.Version, deed}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return err
	}
	// What a crash left of a line is written over.
	whole, err := durable.Read(f.Name(), 16<<20)
	if err == nil {
		end := bytes.LastIndexByte(whole, '\n') + 1
		if err = f.Truncate(int64(end)); err == nil {
			_, err = f.WriteAt(line, int64(end))
		}
	}
	return errors.Join(err, f.Sync(), f.Close(), durable.SyncDir(dir))
}

// Read returns what was done with a run's changes, oldest first.
func Read(dir string) ([]paddock.Deed, error) {
	text, err := durable.Read(filepath.Join(dir, name), 16<<20)
	if err != nil {
		return nil, durable.IgnoreMissing(err)
	}
	var deeds []paddock.Deed
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break // a crash came in between, so it wasn't begun
		}
		var f deedLine
		if err := durable.DecodeJSON(line, &f); err != nil {
			return nil, fmt.Errorf("%s can't be read: %w", filepath.Join(dir, name), err)
		}
		deeds = append(deeds, f.Deed)
	}
	return deeds, nil
}
