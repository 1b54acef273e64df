package main

import (
	"context"
	"errors"
	"sync/atomic"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/built"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/rule"
)

// version is set by the build.
var version = "devel"

// thisVersion is what this program was made of.
func thisVersion() built.Info { return built.This(version) }

// source is where the policy for each request comes from.
func source(d *desk.Desk) *lookup.Source {
	return &lookup.Source{Places: d.PolicyPlaces(d.Policy)}
}

// house puts the rooms together over the state directory. warm is how many
// supervisors are kept ready: none for one command, some for a server.
func house(ctx context.Context, d *desk.Desk, flag string, policies executor.Source, warm int) (*app.App, error) {
	e, err := workshop(ctx, d, flag, policies, warm)
	if err != nil {
		return nil, err
	}
	return app.New(e), nil
}

// startsNothing is how many supervisors are kept ready where nothing may be started.
const startsNothing = -1

// workshop is the house without its verbs. Nothing starts near what is apart but in a
// workspace.
func workshop(ctx context.Context, d *desk.Desk, flag string, policies executor.Source, warm int, apart ...string) (*executor.Executor, error) {
	state := d.StateDir(flag)
	if state == "" {
		return nil, desk.Usage("there is no place to keep runs in", "set HOME, or name a directory with --state")
	}
	var elsewhere atomic.Bool // somebody waits to be judged by who has CEL
	e, err := executor.Open(ctx, executor.Config{
		State:   state,
		Reading: warm == 0,
		Policy:  policies,
		Apart:   apart,
		Warm:    max(0, warm),
		Idle:    warm == startsNothing,
		Expect:  d.Expect,
		HostEnv: d.Env,
		Warn: func(err error) {
			if errors.Is(err, rule.ErrElsewhere) {
				elsewhere.Store(true)
				return
			}
			warn(d, err)
		},
		Now: d.Now,
	})
	if err == nil && elsewhere.Load() {
		err = errors.Join(rule.ErrElsewhere, e.Close())
	}
	if err != nil {
		return nil, err
	}
	if why := e.ReadOnly(); why != nil {
		d.Say("note", why.Error()+"; nothing is written, and runs are shown as they are found")
	}
	return e, nil
}

// only is the source of one policy, whatever applies here.
type only struct{ policy *policy.Policy }

// Load implements executor.Source.
func (o only) Load() (*policy.Policy, error) { return o.policy, nil }

// warn tells what went wrong in the background and was got over.
func warn(d *desk.Desk, err error) {
	if !errors.Is(err, context.Canceled) {
		d.Say("warning", err.Error())
	}
}
