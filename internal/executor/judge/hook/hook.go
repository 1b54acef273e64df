// Package hook asks a host program for its veto.
//
// # Limits
//
// A hook can only deny: it is asked when everything else allows.
package hook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"paddock"
)

// A Hook is a host program's veto. A nil error allows; the text of any other
// reaches the caller as it is. A panic denies.
type Hook func(context.Context, Request) error

// A Request is what a Hook is asked about. It is the hook's own copy, and
// the grant names the program's variables without their values.
type Request struct {
	Request paddock.Request
	Grant   paddock.Grant
}

// Call asks the hook; one that panics, whatever with, denies.
func Call(ctx context.Context, hook Hook, request paddock.Request, grant *paddock.Grant) (words string, allowed bool) {
	returned := false
	defer func() {
		if !returned {
			words, allowed = fmt.Sprintf("The host program's hook panicked, so the request is denied: %v", recover()), false
		}
	}()
	err := hook(ctx, copyOf(request, grant))
	returned = true
	if err != nil {
		return err.Error(), false
	}
	return "", true
}

// copyOf is deep: a hook that changes what it is shown changes nothing.
func copyOf(req paddock.Request, g *paddock.Grant) Request {
	c := &req.Command
	c.Argv, c.Env, c.ReplaceEnv = slices.Clone(c.Argv), maps.Clone(c.Env), maps.Clone(c.ReplaceEnv)
	c.Stdin.Text, c.Terminal = own(c.Stdin.Text), own(c.Terminal)
	grant := *g
	grant.Argv, grant.Environment = slices.Clone(g.Argv), nil
	grant.EnvironmentNames = slices.Clone(g.EnvironmentNames)
	grant.Executable.Interpreters = slices.Clone(g.Executable.Interpreters)
	grant.Secrets, grant.Rule = slices.Clone(g.Secrets), own(g.Rule)
	held := &grant.Contain
	held.Reach, held.Inject, held.Read = slices.Clone(held.Reach), slices.Clone(held.Inject), slices.Clone(held.Read)
	held.Write, held.Executes, held.Account = slices.Clone(held.Write), slices.Clone(held.Executes), own(held.Account)
	for i := range held.Inject {
		if p := own(held.Inject[i].Provider); p != nil {
			p.Argv, held.Inject[i].Provider = slices.Clone(p.Argv), p
		}
	}
	return Request{Request: req, Grant: grant}
}

// own returns a copy of what p points to.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
