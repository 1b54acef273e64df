//go:build linux

package main

import (
	"context"

	"paddock"
	"paddock/internal/git"
)

// Git has no repository in a paper house; scripts ask real ones.
func (p *paper) Git(ctx context.Context, _ git.Ask) (git.Answer, error) {
	if p.fault != nil {
		return git.Answer{}, p.fault
	}
	return git.Answer{}, paddock.Refused(paddock.GitNotAllowed, "a paper house has no repository")
}

func (p *paper) PolicyText(ctx context.Context, _ paddock.Principal, _ paddock.RunID) ([]byte, error) {
	return nil, ctx.Err()
}
