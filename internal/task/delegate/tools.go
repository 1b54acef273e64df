package delegate

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/task/delegate/book"
	"paddock/internal/task/delegate/book/errand"
	"paddock/internal/task/delegate/book/kin"
	"paddock/internal/task/delegate/door"
)

// Serve answers what d asks of its tools over conn, and returns when conn or ctx has
// ended. It closes conn.
type Serve func(ctx context.Context, conn net.Conn, d Delegate)

// start begins the run of d, with the tools that it has.
func (r *Room) start(ctx context.Context, d Delegate) (paddock.Run, error) {
	if len(d.Tools) == 0 {
		return r.exec.StartWith(ctx, errand.Request(d), nil)
	}
	return door.Door{
		Serve:   func(ctx context.Context, conn net.Conn) { r.serve(ctx, conn, d) },
		Begin:   func(theirs *os.File) (paddock.Run, error) { return r.exec.StartWith(ctx, errand.Request(d), theirs) },
		Settled: r.exec.Settled,
	}.Open(r.life, &r.work)
}

// Inside returns the delegate within which this process runs; empty if there is none.
func (r *Room) Inside(ctx context.Context) (string, error) {
	all, err := r.turn(ctx) // that what has just begun is known to have
	if err != nil {
		return "", err
	}
	return kin.Inside(ctx, all, r.exec.Run)
}

// below puts d below the delegate that asks for it, if one does: known by its session,
// else by whose child the asking process is, else by what it says.
func (r *Room) below(ctx context.Context, d *Delegate, a Ask, rules *compiled.Delegates) (err error) {
	if d.Parent = a.Principal.DelegateID(); d.Parent == "" {
		if d.Parent, err = r.Inside(ctx); err != nil {
			return err
		}
	}
	if d.Parent == "" {
		d.Parent = a.Parent
	}
	d.Tools = slices.Clone(rules.Tools[d.Provider])
	if d.Depth = 1; d.Parent != "" {
		above, err := r.book.Get(d.Parent)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !above.Pending():
			return paddock.Refused(paddock.Forbidden, "The delegate in whose name this is asked doesn't run.")
		case err != nil:
			return err
		case above.Depth >= rules.Depth:
			return paddock.Refused(paddock.DepthExceeded, "A delegate at depth %d asks for one; the policy allows a depth of %d.", above.Depth, rules.Depth)
		}
		d.Depth = above.Depth + 1
		d.Tools = slices.DeleteFunc(d.Tools, func(tool string) bool { return !book.Within([]string{tool}, above.Tools) })
	}
	if len(d.Tools) > 0 && r.serve == nil {
		refusal := paddock.Refused(paddock.LaunchDisabled, "The delegates of %s have tools of Paddock, and nobody serves them here.", d.Provider)
		refusal.Hint = "Give the task over MCP or with `paddock delegate start`."
		return refusal
	}
	return nil
}
