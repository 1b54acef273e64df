package facts

import (
	"context"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// Executes returns what must be executable for p to be: p, and what reads it if
// it is a script; or p alone where it is a directory. What isn't there, or isn't
// safe from others, is nothing.
func (f *Finder) Executes(ctx context.Context, p, searchPath string) ([]string, error) {
	found := f.Find(ctx, Query{Wanted: policy.Wanted{Executable: p}, SearchPath: searchPath})
	defer found.Close()
	if found.Fault != nil {
		return nil, found.Fault
	}
	if found.Launch != nil {
		return append([]string{p}, paths(found.Executable.Interpreters)...), nil
	}
	end, err := trust.Walk(nil, "", p, f.owner.Check)
	if trust.Fault(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	defer end.Close()
	if end.Missing == nil && end.Stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return []string{p}, nil
	}
	return nil, nil
}

func paths(interpreters []paddock.Interpreter) (all []string) {
	for _, i := range interpreters {
		all = append(all, i.Path)
	}
	return all
}
