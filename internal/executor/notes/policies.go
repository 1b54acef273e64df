package notes

import (
	"context"
	"fmt"
	"path/filepath"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/short"
	"paddock/internal/lineage"
	"paddock/internal/rundir"
)

// mostProblem bounds what an entry says of a policy that can't be used.
const mostProblem = 512

// Policy returns what keeps the text of the policy that a run was decided by, or persons
// are asked by, in the directory of that while it is made, and tells of trouble with a newer one. That either
// is known later is no condition of either.
func (n *Notes) Policy(ctx context.Context, state *rundir.State, digest paddock.Digest, text []byte, trouble *lineage.Trouble) (beside func(dir string)) {
	return func(dir string) {
		n.trouble(ctx, trouble)
		if err := state.KeepPolicy(dir, digest, text); err != nil {
			n.warn(fmt.Errorf("%s: %w", filepath.Base(dir), err))
		}
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
