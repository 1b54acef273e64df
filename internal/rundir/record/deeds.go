package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

type deedLine struct {
	Version int          `json:"version"`
	Deed    paddock.Deed `json:"deed"`
}

func (f *deedLine) FileVersion() int { return f.Version }

// AddDeed writes durably down what is done with the run's changes. Only one who
// holds the root's lock may.
func (d *Dir) AddDeed(deed paddock.Deed) error {
	line, err := durable.EncodeJSON(deedLine{durable.Version, deed}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", d.file("deeds.jsonl"), err)
	}
	f, err := os.OpenFile(d.file("deeds.jsonl"), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
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
	return errors.Join(err, f.Sync(), f.Close(), durable.SyncDir(d.path))
}

// Deeds returns what was done with the run's changes, oldest first.
func (d *Dir) Deeds() ([]paddock.Deed, error) {
	text, err := durable.Read(d.file("deeds.jsonl"), 16<<20)
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
			return nil, fmt.Errorf("%s can't be read: %w", d.file("deeds.jsonl"), err)
		}
		deeds = append(deeds, f.Deed)
	}
	return deeds, nil
}
