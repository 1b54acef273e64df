// Package told finds out what of a run's end the journal has, so that whoever comes
// after one who was ended while telling it tells the rest, and nothing twice.
//
// # Limits
//
// It writes nothing. Its answer holds as long as nobody else may append: it is asked
// by the one who is about to.
package told

import (
	"bytes"
	"time"

	"paddock"
	"paddock/internal/journal"
)

// Missing returns what the journal in dir lacks of the end of a run and of what became
// known of it later, which it has in the same order as the record.
func Missing(dir string, end journal.Entry, addenda []paddock.Addendum) (entries []journal.Entry, err error) {
	told, later, err := hasEnd(dir, end.Run)
	if err != nil {
		return nil, err
	}
	if !told {
		entries = append(entries, end)
	}
	for _, a := range addenda[min(later, len(addenda)):] {
		entries = append(entries, journal.AddendumOf(end.Run, a))
	}
	return entries, nil
}

// slack is how much the clock may have been set back within a run.
const slack = time.Hour

// hasEnd looks for the end of a run, and counts its addenda, from the newest
// segment back to where the run was told to start.
func hasEnd(dir string, id paddock.RunID) (told bool, addenda int, err error) {
	segments, err := journal.Segments(dir)
	if err != nil {
		return false, 0, err
	}
	for i := len(segments) - 1; i >= 0; i-- {
		ended, begun, later, err := lookFor(segments[i], id)
		addenda += later
		if ended || begun || err != nil {
			return ended, addenda, err
		}
	}
	return false, addenda, nil
}

// lookFor says whether a segment has the end of the run, whether none before it
// needs to be looked at, and how many addenda it has.
func lookFor(s journal.Segment, id paddock.RunID) (ended, begun bool, addenda int, err error) {
	first := true
	err = journal.ScanSegment(s, func(l journal.Line) error {
		if !first && !bytes.Contains(l.Bytes, []byte(id)) {
			return nil
		}
		e, err := l.Entry()
		if err != nil {
			return nil //nolint:nilerr // an audit tells of it
		}
		if first {
			first, begun = false, e.Time.Before(id.Time().Add(-slack))
		}
		if e.Run != id {
			return nil
		}
		switch e.Kind {
		case journal.Start:
			begun = true
		case journal.End:
			ended = true
		case journal.Addendum:
			addenda++
		}
		return nil
	})
	return ended, begun, addenda, err
}
