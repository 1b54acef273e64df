// Package kin finds out within which delegate a process runs: by whose child it is,
// which nothing in its environment can deny.
//
// # Limits
//
// A process that is held by nothing may have one that isn't below it ask in its place.
package kin

import (
	"context"
	"os"
	"slices"

	"paddock"
	"paddock/internal/rundir/record/process"
	"paddock/internal/task/delegate/book"
)

// apart are the means that give a run a PID namespace of its own.
var apart = []paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace}

// Inside returns the id of that one of all whose run this process is part of, the
// innermost of several; empty if there is none.
func Inside(ctx context.Context, all []book.Delegate, look func(context.Context, paddock.RunID) (paddock.Run, error)) (string, error) {
	runs := slices.DeleteFunc(slices.Clone(all), func(d book.Delegate) bool { return d.State != book.Running })
	if len(runs) == 0 {
		return "", nil
	}
	above, err := process.Above(os.Getpid())
	if err != nil {
		return "", err
	}
	found, own := "", process.Namespace(os.Getpid())
	for _, d := range runs {
		run, err := look(ctx, d.Run)
		if err != nil {
			return "", err
		}
		switch {
		case run.Supervisor == nil:
			continue
		case own != "" && run.Namespace == own && slices.Contains(apart, run.Isolation): // from inside nothing above is seen
			return d.ID, nil
		}
		if i := slices.Index(above, *run.Supervisor); i >= 0 {
			above, found = above[:i], d.ID
		}
	}
	return found, nil
}
