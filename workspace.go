package paddock

import "time"

// A Deed is something that was done with a run's changes after its end.
type Deed struct {
	Kind DeedKind  `json:"kind"`
	At   time.Time `json:"at"`
	// By is the principal id of who did it.
	By string `json:"by"`
	// Paths are those that changed in the workspace, and More how many further
	// ones aren't listed.
	Paths []string `json:"paths,omitempty"`
	More  int      `json:"more,omitempty"`
}

// A DeedKind says what was done.
type DeedKind string

// The deeds. An applying that no applied follows was interrupted: some of its
// paths may be changed, and applying again does the rest.
const (
	DeedApplying  DeedKind = "applying"
	DeedApplied   DeedKind = "applied"
	DeedDiscarded DeedKind = "discarded"
	// DeedRestored is of a quarantine: its paths were, or were about to be, moved back.
	DeedRestored DeedKind = "restored"
)

// HalfApplied reports whether the last that was done was interrupted.
func HalfApplied(deeds []Deed) bool {
	return len(deeds) > 0 && deeds[len(deeds)-1].Kind == DeedApplying
}

// Changes are what a run did to its workspace while that was kept apart.
type Changes struct {
	Run  RunID  `json:"run"`
	Root string `json:"root"`
	// Kind is overlay or copy.
	Kind  string       `json:"kind"`
	Files []FileChange `json:"files"`
	// Left is how many further changes there are.
	Left int `json:"left,omitempty"`
	// Unreadable are directories that can't be looked into.
	Unreadable []string `json:"unreadable,omitempty"`
}

// A FileChange is what happened at one path. What was renamed is gone at one
// path and new at another.
type FileChange struct {
	Path string `json:"path"`
	// Change is added, modified or deleted.
	Change string `json:"change"`
	// Old and New say what is there: file, directory, link or special; empty if
	// nothing is. Modes are octal.
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldSize int64  `json:"old_size,omitempty"`
	NewSize int64  `json:"new_size,omitempty"`
	// Targets are what symbolic links point to.
	OldTarget string `json:"old_target,omitempty"`
	NewTarget string `json:"new_target,omitempty"`
	// Hunks are those of a unified diff; Unshown says why there are none
	// although the content changed.
	Hunks   string `json:"hunks,omitempty"`
	Unshown string `json:"unshown,omitempty"`
	// Added and Removed count lines of the hunks.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// Applied is what was brought into a workspace.
type Applied struct {
	Run   RunID    `json:"run"`
	Root  string   `json:"root"`
	Paths []string `json:"paths"`
}
