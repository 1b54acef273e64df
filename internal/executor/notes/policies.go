package notes

import (
	"context"
	"fmt"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/short"
	"paddock/internal/lineage"
	"paddock/internal/rundir"
)

// mostProblem bounds what an entry says of a policy that can't be used.
const mostProblem = 512

// Policy keeps the text of the policy that a run was decided by, and tells of trouble
// with a newer one. That either is known later is no condition of a run.
func (n *Notes) Policy(ctx context.Context, state *rundir.State, dir *rundir.Dir, digest paddock.Digest, text []byte, trouble *lineage.Trouble) {
	n.trouble(ctx, trouble)
	if err := state.KeepPolicy(dir.Path(), digest, text); err != nil {
		n.warn(fmt.Errorf("run %s: %w", dir.ID(), err))
	}
}

// trouble tells that a policy was changed so that it can't be used, and that the one
// before is still in force: once for each text.
func (n *Notes) trouble(ctx context.Context, t *lineage.Trouble) {
	if t == nil {
		return
	}
	n.mu.Lock()
	known := n.broken == t.Text
	n.broken = t.Text
	n.mu.Unlock()
	if !known {
		n.tell(ctx, journal.Entry{Kind: journal.PolicySeen, Policy: &journal.PolicyDetail{
			Digest: t.Text, InForce: t.InForce, Problem: short.Text(t.Problem.Message, mostProblem),
		}})
	}
}
