package app

import (
	"context"
	"errors"

	"paddock"
)

// What is kept of a run's output, of a git tool's answer or of what somebody gave
// is one thing to those who read it: an artifact, whose id is that of its run.

// Bank keeps what p gives under a label, as far as the policy lets one stream of
// output go. Its run has the state banked: there was no program.
func (a *App) Bank(ctx context.Context, p paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error) {
	if err := named(p); err != nil {
		return paddock.Run{}, err
	}
	run, err := a.exec.Bank(ctx, p, door, label, payload)
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
