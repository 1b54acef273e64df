// Package finding has the words for what is wrong with a state directory.
//
// # Limits
//
// It looks at nothing.
package finding

import (
	"io/fs"

	"paddock"
)

// A Kind says what is wrong.
type Kind string

// The kinds of findings.
const (
	Mode      Kind = "mode"      // somebody else's, or open to others
	Stranger  Kind = "stranger"  // nothing that Paddock has put there
	Hostile   Kind = "hostile"   // a link, a pipe or a device where a file is to be; it isn't followed
	Record    Kind = "record"    // a run whose record is missing, torn or doesn't fit
	Output    Kind = "output"    // kept output that isn't what the record says
	Index     Kind = "index"     // an entry that is missing or leads elsewhere
	Marks     Kind = "marks"     // a file of line marks that doesn't fit its stream
	Unsettled Kind = "unsettled" // a run that is open and that nobody looks after
	Usage     Kind = "usage"     // what is noted of use isn't what the runs say
	Leftover  Kind = "leftover"  // what a process that was ended has left behind
	Journal   Kind = "journal"   // the journal isn't whole
	Disagrees Kind = "disagrees" // journal and records tell different things
)

// A Mend says what mends a finding; empty where nothing does by itself.
type Mend string

// What mends.
const (
	ByRebuild Mend = "rebuild" // `paddock state rebuild`
	ByUse     Mend = "use"     // the next use of the state directory
)

// A Finding is one thing that is wrong.
type Finding struct {
	Kind Kind          `json:"kind"`
	Run  paddock.RunID `json:"run,omitempty"`
	// Path is below the state directory.
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail"`
	Mend   Mend   `json:"mend,omitempty"`
}

// A Find is called with what is wrong at a path, and what mends it.
type Find func(kind Kind, run paddock.RunID, path string, mend Mend, format string, args ...any) error

// What says what kind of thing a mode is of.
func What(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// A Report is what was looked at.
type Report struct {
	Runs     int   `json:"runs"`
	Open     int   `json:"open"`    // runs that aren't settled
	Entries  int64 `json:"entries"` // of the journal
	Findings int   `json:"findings"`
	// Digests says whether kept output was read.
	Digests bool `json:"digests"`
	// ReadOnly says why nothing could be written there; empty where it could.
	ReadOnly string `json:"read_only,omitempty"`
}

// Options say how closely to look.
type Options struct {
	// Digests reads all kept output and computes its digests.
	Digests bool
	// Archive lists directories to which segments of the journal were moved.
	Archive []string
}
