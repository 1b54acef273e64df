package agree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"paddock/internal/rundir"
)

// newest is how many runs and rows a glance looks at.
const newest = page

// Glance looks at the newest runs of a state directory and the newest rows, and says what
// somebody should do about them; nothing where they agree. What the worker mends by itself
// isn't told of. Of c the state and what is done with findings aren't used.
func Glance(ctx context.Context, c Config, dir string) (said string, err error) {
	state, err := rundir.Open(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	kinds := map[Kind]int{}
	c.State, c.Record, c.Older, c.most = state, nil, Recent, newest
	c.Each = func(f Finding) error {
		if f.Mend != ByBeat {
			kinds[f.Kind]++
		}
		return nil
	}
	if _, err := Reconcile(ctx, c); err != nil {
		return "", err
	}
	var parts []string
	for _, one := range []struct {
		kind Kind
		is   string
	}{
		{NoRow, "the database doesn't know %d of the newest runs whose records are here"},
		{NoDirectory, "there is no record here of %d of the newest runs that this machine carried out"},
		{Differs, "database and record say different things of %d of the newest runs"},
		{Unreadable, "%d of the newest records can't be read"},
	} {
		if n := kinds[one.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf(one.is, n))
		}
	}
	if len(parts) == 0 {
		return "", nil
	}
	return strings.Join(parts, ", and ") + ", as where the database or the disk was put back, or records were removed: `paddock state reconcile --dry-run` says which, and without --dry-run mends what can be", nil
}
