package app

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/git"
)

// Git answers a question about a repository, in the name of the principal in it.
// What it runs belongs to that principal like every other run.
func (a *App) Git(ctx context.Context, ask git.Ask) (git.Answer, error) {
	if err := named(ask.Principal); err != nil {
		return git.Answer{}, err
	}
	answer, err := git.New(a.exec).Ask(ctx, ask)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok {
		err = discreetRefusal(ask.Principal, refusal)
	}
	return answer, err
}
