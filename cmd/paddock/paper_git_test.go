//go:build linux

package main

import (
	"context"
	"errors"

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

func (p *paper) Bank(context.Context, paddock.Principal, paddock.Principal, paddock.Door, string, []byte) (paddock.Run, error) {
	return paddock.Run{}, errors.New("a paper house keeps nothing; scripts ask real ones")
}
