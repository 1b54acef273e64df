package notes

import (
	"bytes"
	"context"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/rundir"
)

// ended tells the end of a settled run whose supervisor is gone and may or may
// not have told it: each run has one end in the journal.
func (n *Notes) ended(dir *rundir.Dir) error {
	if noted, err := dir.Noted(); noted || err != nil {
		return err
	}
	outcome, err := dir.Outcome()
	if outcome == nil || err != nil {
		return err
	}
	started, err := dir.Started()
	if err != nil || started == nil {
		started = &rundir.Started{} // what can't be read isn't told
	}
	addenda, err := dir.Addenda()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(n.life, patience)
	defer cancel()
	err = n.w.AppendWhere(ctx, func() ([]journal.Entry, error) {
		told, later, err := hasEnd(n.dir, dir.ID())
		if err != nil {
			return nil, err
		}
		var entries []journal.Entry
		if !told {
			entries = append(entries, journal.EndOf(dir.ID(), *outcome, &started.Enforced, started.Isolation, started.StageDigest))
		}
		for _, a := range addenda[min(later, len(addenda)):] {
			entries = append(entries, journal.AddendumOf(dir.ID(), a))
		}
		return entries, nil
	})
	if err != nil {
		return err
	}
	return dir.MarkNoted()
}

// Ended tells the end of a settled run that has no supervisor.
func (n *Notes) Ended(dir *rundir.Dir) error { return n.ended(dir) }

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
			return nil // an audit tells of it
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
