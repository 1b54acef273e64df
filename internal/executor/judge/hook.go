package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"paddock"
)

// A Hook is a host program's veto. A nil error allows; the text of any other
// reaches the caller as it is. A panic denies.
type Hook func(context.Context, HookRequest) error

// A HookRequest is what a Hook is asked about. It is the hook's own copy, and
// the grant names the program's variables without their values.
type HookRequest struct {
	Request paddock.Request
	Grant   paddock.Grant
}

// ask lets the hook judge what everything else allows.
func (j *Judge) ask(ctx context.Context, req paddock.Request, d *paddock.Decision) {
	words, allowed := call(ctx, j.cfg.Hook, copyOf(req, d.Grant))
	if allowed {
		answer(d, paddock.GateResult{Gate: paddock.GateHook, Verdict: paddock.Pass, Detail: "the host program allows"})
		return
	}
	refusal := paddock.Refused(paddock.RuleDenied, "%s", words)
	refusal.Gate = paddock.GateHook
	deny(d, *refusal)
}

// call asks the hook; one that panics, whatever with, denies.
func call(ctx context.Context, hook Hook, req HookRequest) (words string, allowed bool) {
	returned := false
	defer func() {
		if !returned {
			words, allowed = fmt.Sprintf("The host program's hook panicked, so the request is denied: %v", recover()), false
		}
	}()
	err := hook(ctx, req)
	returned = true
	if err != nil {
		return err.Error(), false
	}
	return "", true
}

// copyOf is deep: a hook that changes what it is shown changes nothing.
func copyOf(req paddock.Request, g *paddock.Grant) HookRequest {
	c := &req.Command
	c.Argv, c.Env, c.ReplaceEnv = slices.Clone(c.Argv), maps.Clone(c.Env), maps.Clone(c.ReplaceEnv)
	if c.Stdin.Text != nil {
		text := *c.Stdin.Text
		c.Stdin.Text = &text
	}
	grant := *g
	grant.Argv, grant.Environment = slices.Clone(g.Argv), nil
	grant.EnvironmentNames = slices.Clone(g.EnvironmentNames)
	grant.Executable.Interpreters = slices.Clone(g.Executable.Interpreters)
	if g.Rule != nil {
		rule := *g.Rule
		grant.Rule = &rule
	}
	return HookRequest{Request: req, Grant: grant}
}
