package main

import (
	"context"
	"errors"

	"paddock"
	"paddock/cmd/paddock/internal/lookup"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/policy"
)

// source is where the policy for each request comes from.
func (o *outside) source(s settings) *lookup.Source {
	return &lookup.Source{Places: o.policyPlaces(s.policy)}
}

// house puts the rooms together over the state directory. warm is how many
// supervisors are kept ready: none for one command, some for a server.
func (o *outside) house(ctx context.Context, s settings, source executor.Source, warm int) (*app.App, error) {
	state := o.stateDir(s.state)
	if state == "" {
		return nil, &usageError{"there is no place to keep runs in", "set HOME, or name a directory with --state"}
	}
	e, err := executor.Open(ctx, executor.Config{
		State:   state,
		Policy:  source,
		Warm:    warm,
		HostEnv: o.env,
		Warn:    func(err error) { o.warn(err) },
		Now:     o.now,
	})
	if err != nil {
		return nil, err
	}
	return app.New(e), nil
}

// only is the source of one policy, whatever applies here.
type only struct{ policy *policy.Policy }

// Load implements executor.Source.
func (o only) Load() (*policy.Policy, *paddock.Refusal) { return o.policy, nil }

// warn tells what went wrong in the background and was got over.
func (o *outside) warn(err error) {
	if !errors.Is(err, context.Canceled) {
		(&cli{outside: o}).say("warning", err.Error())
	}
}
