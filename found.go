package paddock

// Deeper is what a look at the root of a run found of the places that other tools
// would execute or obey, where nothing kept the run from making or changing them.
type Deeper struct {
	// Found are those that weren't as they were before the run, those that stayed
	// in the root first, and More how many further ones aren't listed.
	Found []Found `json:"found,omitempty"`
	More  int     `json:"more,omitempty"`
	// Looked is how many files and directories were looked at by name, and
	// Unlooked says, in a line, where nobody looked; empty means nowhere.
	Looked   int    `json:"looked"`
	Unlooked string `json:"unlooked,omitempty"`
}

// MountUnlooked is why nobody looks into what is mounted inside of a root. It is
// so for every run there, so that nobody needs to be told of each.
const MountUnlooked = "it is a mount point"

// A Found is one place. Others may have changed it: everybody who wrote to the
// root while the run went on.
type Found struct {
	// Path is relative to the root.
	Path   string      `json:"path"`
	Change FoundChange `json:"change"`
	// Kind is file, directory, link or special; Mode is octal.
	Kind string `json:"kind"`
	Mode string `json:"mode"`
	Size int64  `json:"size,omitempty"`
	// Target is where a symbolic link points to, and Digest that of a file's content.
	Target string `json:"target,omitempty"`
	Digest Digest `json:"digest,omitempty"`
	// Quarantined is set when it was moved out of the root, into the run's
	// directory; Why says why it stayed.
	Quarantined bool   `json:"quarantined"`
	Why         string `json:"why,omitempty"`
}

// A FoundChange says what became of a place.
type FoundChange string

// The changes.
const (
	FoundAppeared FoundChange = "appeared" // it wasn't there before the run
	FoundChanged  FoundChange = "changed"  // it was, and is another or has another content
	FoundUnknown  FoundChange = "unknown"  // nobody knows whether it was there
)

// What becomes of places that are found.
const (
	QuarantineDeeper = "quarantine" // those that appeared are moved out of the root
	ReportDeeper     = "report"     // they are only told
	IgnoreDeeper     = "ignore"     // nobody looks
)

// A Quarantine is what was moved out of the root of a run.
type Quarantine struct {
	Run   RunID  `json:"run"`
	Root  string `json:"root"`
	Items []Item `json:"items"`
}

// An Item is one thing of a quarantine.
type Item struct {
	Found
	// At is where it is now; empty when it isn't kept any more: it was restored,
	// or removed with the run's output.
	At string `json:"at,omitempty"`
}

// Restored is what was moved back to where it came from.
type Restored struct {
	Run   RunID    `json:"run"`
	Root  string   `json:"root"`
	Paths []string `json:"paths"`
}
