package record

import (
	"paddock"
	"paddock/internal/rundir/record/durable/deeds"
)

// AddDeed writes durably down what is done with the run's changes. Only one who
// holds the root's lock may.
func (d *Dir) AddDeed(deed paddock.Deed) error { return deeds.Add(d.path, deed) }

// Deeds returns what was done with the run's changes, oldest first.
func (d *Dir) Deeds() ([]paddock.Deed, error) { return deeds.Read(d.path) }
