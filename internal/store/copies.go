package store

import (
	"context"

	"paddock"
)

// A Copy is what the directory of a run that is over said of it at a time. It is good
// while the directory has that time, which is of one machine.
type Copy struct {
	Run paddock.RunID
	// Stamp is the time of the directory, in nanoseconds.
	Stamp int64
	// Record is the paddock.Run, as JSON.
	Record Blob
}

// MostRecord is the longest record that is copied, in bytes.
const MostRecord = 64 << 10

// Copies keeps what lists would otherwise read in thousands of files. They decide nothing,
// and are made again where there is none.
type Copies interface {
	// PutCopies keeps some in the place of those of the same runs.
	PutCopies(ctx context.Context, some []Copy) error
	// Copies are those of some runs; of others there is none.
	Copies(ctx context.Context, runs []paddock.RunID) ([]Copy, error)
}
