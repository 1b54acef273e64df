// Package changes shows what a run changed while that was kept apart from its
// workspace, and brings it there or throws it away.
//
// # Limits
//
// It doesn't ask whose run it is. What is shown is bounded: after the first
// files and lines the rest is only counted.
package changes

import (
	"errors"
	"path"
	"time"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/workspace"
	"paddock/internal/workspace/apply/tree/change"
)

// Bounds of what is shown and of what is written down of one deed.
const (
	mostShown  = 50_000
	mostHunks  = 8 << 20
	mostListed = 1000
	mostNamed  = 20 // paths in a refusal
)

// A Choice narrows changes to paths and what lies below them; without any it is
// all of them.
type Choice struct {
	Paths []string
	// Hunks asks for the differences of texts too.
	Hunks bool
}

// clean returns the paths as they are compared. Whoever names one is told when
// it can't be meant.
func (c Choice) clean() ([]string, error) {
	var out []string
	for _, p := range c.Paths {
		clean := path.Clean(p)
		if p == "" || clean != "." && !change.Local(clean) {
			return nil, paddock.Refused(paddock.InvalidRequest, "%q isn't a path below the run's root.", p)
		}
		out = append(out, clean)
	}
	return out, nil
}

// settled refuses for a run that goes on, or that never was kept apart.
func settled(run paddock.Run) error {
	if !run.State.Settled() {
		r := paddock.Refused(paddock.Conflict, "The run goes on, so what it changes isn't known yet.")
		r.Hint, r.Retryable = "Wait for its end with `paddock wait`, or end it.", true
		return r
	}
	if run.Outcome != nil && run.Outcome.Survivors > 0 {
		r := paddock.Refused(paddock.Conflict, "%d processes of the run couldn't be ended and may still change files.", run.Outcome.Survivors)
		r.Hint = "End them by hand, or restart the machine; `paddock show` has what is known of them."
		return r
	}
	return nil
}

// explained gives an error from what was kept its meaning.
func explained(run paddock.Run, err error) error {
	switch {
	case errors.Is(err, workspace.ErrGone):
		r := paddock.Refused(paddock.Conflict, "The run's changes aren't kept.")
		r.Hint = "Only runs under `containment: {workspace: overlay}` have changes to look at; others write to the workspace directly."
		for _, deed := range run.Deeds {
			if deed.Kind == paddock.DeedDiscarded {
				r.Message, r.Hint = "The run's changes were discarded by "+deed.By+".", "Run the command again to have them again."
			}
		}
		return r
	case errors.Is(err, workspace.ErrMoved):
		r := paddock.Refused(paddock.Conflict, "The workspace isn't the directory any more that the run saw: %v.", err)
		r.Hint = "Put the directory back where it was, or copy by hand what you need of the run's directory."
		return r
	}
	return err
}

// A Desk is where one run's record is read and its changes are dealt with.
type Desk struct {
	*rundir.Dir
	State *rundir.State
	Run   paddock.Run
	Now   func() time.Time
}
