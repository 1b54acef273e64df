package app

import (
	"cmp"
	"context"
	"errors"

	"paddock"
)

// What is kept of a run's output, of a git tool's answer or of what somebody gave
// is one thing to those who read it: an artifact, whose id is that of its run.

// Bank keeps what p gives under a label, as far as the policy lets one stream of
// output go. Its run has the state banked: there was no program. It is of's, which is p or,
// where p is an operator, any agent; a host program gives to the sessions of its delegates.
func (a *App) Bank(ctx context.Context, p, of paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error) {
	if err := cmp.Or(named(p), named(of)); err != nil {
		return paddock.Run{}, err
	}
	opened := p.Kind == paddock.Operator || p.Kind == paddock.Host && of.Root() == p
	if p != of && (of.Kind != paddock.Agent || !opened) {
		return paddock.Run{}, paddock.Refused(paddock.Forbidden, "An artifact is kept for who gives it, or for an agent's session that is theirs.")
	}
	run, err := a.exec.Bank(ctx, of, door, label, payload)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok {
		err = discreetRefusal(p, refusal)
	}
	return run, err
}

// Artifact returns one page of an artifact, as Output does of a run's output.
// Those of others look like unknown ones.
func (a *App) Artifact(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	page, err := a.Output(ctx, p, id, req)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok && refusal.Code == paddock.NotFound {
		err = paddock.Refused(paddock.NotFound, "There is no such artifact among those that you may see.")
	}
	return page, err
}
