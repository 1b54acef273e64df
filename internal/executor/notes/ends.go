package notes

import (
	"context"

	"paddock/internal/journal"
	"paddock/internal/journal/told"
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
	end := journal.EndOf(dir.ID(), *outcome, &started.Enforced, started.Isolation, started.StageDigest)
	if err := n.w.AppendWhere(ctx, func() ([]journal.Entry, error) { return told.Missing(n.dir, end, addenda) }); err != nil {
		return err
	}
	return dir.MarkNoted(len(addenda))
}

// Ended tells the end of a settled run that has no supervisor.
func (n *Notes) Ended(dir *rundir.Dir) error { return n.ended(dir) }
