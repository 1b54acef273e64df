package app

import (
	"context"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/executor/changes"
)

// A Choice says which of a run's changes are meant: those at its paths, which
// are relative to the root, and below them; without any all. Hunks asks for the
// differences of texts too.
type Choice = changes.Choice

// Diff returns what a settled run changed in its workspace while that was kept
// apart. Unlike Status it doesn't count as reading the run's end.
func (a *App) Diff(ctx context.Context, p paddock.Principal, id paddock.RunID, choice Choice) (paddock.Changes, error) {
	if _, err := a.visible(ctx, p, id); err != nil {
		return paddock.Changes{}, err
	}
	kept, err := a.exec.Kept(ctx, id)
	if err != nil {
		return paddock.Changes{}, err
	}
	return kept.Diff(choice)
}

// Apply brings what is chosen into the workspace, all of it or nothing. Where
// the workspace changed since the run began, only paths that are named are
// replaced. No agent may: its changes are kept apart so that somebody else looks
// at them.
func (a *App) Apply(ctx context.Context, p paddock.Principal, id paddock.RunID, choice Choice) (paddock.Applied, error) {
	kept, err := a.disposable(ctx, p, id)
	if err != nil {
		return paddock.Applied{}, err
	}
	return kept.Apply(choice, p.ID)
}

// Discard throws a run's changes away and returns its record, which stays. As
// with Apply, no agent may.
func (a *App) Discard(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	kept, err := a.disposable(ctx, p, id)
	if err != nil {
		return paddock.Run{}, err
	}
	return kept.Discard(p.ID)
}

// Quarantine lists what was moved out of the root of a run, and where it is now.
func (a *App) Quarantine(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Quarantine, error) {
	if _, err := a.visible(ctx, p, id); err != nil {
		return paddock.Quarantine{}, err
	}
	kept, err := a.exec.Kept(ctx, id)
	if err != nil {
		return paddock.Quarantine{}, err
	}
	return kept.Quarantine()
}

// Restore moves what came from the paths back there; nothing is replaced. As with
// Apply, no agent may.
func (a *App) Restore(ctx context.Context, p paddock.Principal, id paddock.RunID, paths []string) (paddock.Restored, error) {
	kept, err := a.disposable(ctx, p, id)
	if err != nil {
		return paddock.Restored{}, err
	}
	return kept.Restore(paths, p.ID)
}

// disposable returns the run if p may say what becomes of its changes.
func (a *App) disposable(ctx context.Context, p paddock.Principal, id paddock.RunID) (executor.Kept, error) {
	if _, err := a.visible(ctx, p, id); err != nil {
		return executor.Kept{}, err
	}
	if p.Kind == paddock.Agent {
		return executor.Kept{}, paddock.Refused(paddock.Forbidden, "What becomes of a run's changes, and of what was put into quarantine, is for an operator to decide.")
	}
	if err := a.exec.ReadOnly(); err != nil {
		return executor.Kept{}, paddock.Refused(paddock.Unrecordable, "Nothing can be changed here: %v.", err)
	}
	return a.exec.Kept(ctx, id)
}
