//go:build !linux

package changes

import "paddock"

// Diff refuses: nothing runs on this system.
func (d Desk) Diff(Choice) (paddock.Changes, error) { return paddock.Changes{}, none() }

// Apply refuses likewise.
func (d Desk) Apply(Choice, string) (paddock.Applied, error) { return paddock.Applied{}, none() }

// Discard refuses likewise.
func (d Desk) Discard(string) (paddock.Run, error) { return paddock.Run{}, none() }

// Quarantine refuses likewise.
func (d Desk) Quarantine() (paddock.Quarantine, error) { return paddock.Quarantine{}, none() }

// Restore refuses likewise.
func (d Desk) Restore([]string, string) (paddock.Restored, error) { return paddock.Restored{}, none() }

func none() error {
	return paddock.Refused(paddock.ContainmentUnavailable, "Changes of runs are kept apart on Linux only.")
}
