package paddock

import "time"

// A Keeping says that a run's output stays, whatever is pruned.
type Keeping struct {
	At time.Time `json:"at"`
	// By is the principal id of who asked.
	By string `json:"by"`
}

// A Pruning says that a run's output and standard input were removed. Its record
// and their digests stay.
type Pruning struct {
	At     time.Time   `json:"at"`
	Reason PruneReason `json:"reason"`
	// By is the principal id of who asked; policy where nobody in particular did.
	By string `json:"by"`
	// Bytes is how much was there.
	Bytes int64 `json:"bytes"`
}

// A PruneReason says why something was removed.
type PruneReason string

// The reasons.
const (
	PruneAge     PruneReason = "age"     // the run has been over for longer than output is to stay
	PruneRuns    PruneReason = "runs"    // as many newer runs have output as are to keep it
	PruneSize    PruneReason = "size"    // the output of newer runs is as large as all may be
	PruneRequest PruneReason = "request" // somebody named the run
	PruneRecords PruneReason = "records" // the run has been over for longer than records are to stay
)

// A Retention says what is kept of runs that are over. Zero means that there is
// no such limit.
type Retention struct {
	// Age is how long output is kept after the end of its run.
	Age time.Duration
	// Runs is how many runs keep their output, and Size how many bytes of output
	// there may be: the newest. Runs that somebody keeps don't count.
	Runs int
	Size int64
	// Records is how long records are kept after the end of their run.
	Records time.Duration
	// Compress says how output that stays is kept in less room.
	Compress Compression
}

// A Compression is how kept output takes less room. What is read of it is the same.
type Compression string

// Zstd compresses in blocks, so that every offset is found as before; the empty
// Compression is none.
const Zstd Compression = "zstd"
