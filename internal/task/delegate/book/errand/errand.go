// Package errand says what is run for a delegate.
//
// # Limits
//
// It starts nothing. Below which delegate another one is, and how deep that may be, is
// asked when a task is given and not here.
package errand

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/task/delegate/book"
)

// Name is the room's, in requests and in policies.
const Name = "delegate"

// Variable of the environment has a delegate's id.
const Variable = "PADDOCK_DELEGATE"

// DoorVariable has the number of the descriptor by which a delegate has tools.
const DoorVariable = "PADDOCK_DOOR"

// door is that number.
const door = 3

// A Judge judges requests and knows what the policy says of delegates.
type Judge interface {
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
	Delegates() (*compiled.Delegates, error)
	Now() time.Time
}

// Choose returns the provider that is meant by a name, which may be empty where there
// is only one.
func Choose(rules *compiled.Delegates, name string) (string, error) {
	if rules == nil || !rules.Agents {
		return "", paddock.Refused(paddock.LaunchDisabled, "The policy doesn't let agents be started.")
	}
	if name == "" && len(rules.Names) == 1 {
		name = rules.Names[0]
	}
	if !slices.Contains(rules.Names, name) {
		refusal := paddock.Refused(paddock.InvalidRequest, "There is no provider %.40q.", name)
		refusal.Hint = "The policy's providers are " + strings.Join(rules.Names, ", ") + "."
		return "", refusal
	}
	return name, nil
}

// Job is what runs for a provider of rules, but for what its task is.
func Job(rules *compiled.Delegates, provider string) book.Job {
	return book.Job{Argv: append([]string{provider}, rules.Args[provider]...)}
}

// Request is what the executor is asked. Its key makes one run of it, however often
// it is begun.
func Request(d book.Delegate) paddock.Request {
	env := map[string]string{Variable: d.ID}
	if len(d.Tools) > 0 {
		env[DoorVariable] = strconv.Itoa(door)
	}
	return paddock.Request{
		Principal: d.Principal, Door: d.Door, Room: Name, Tied: d.Job.Tied || len(d.Tools) > 0, IdempotencyKey: "delegate " + d.ID,
		Command: paddock.Command{
			Argv: d.Job.Argv, Dir: d.Job.Dir, Stdin: paddock.Stdin{Text: &d.Job.Task}, Timeout: d.Job.Timeout, Label: d.Label,
			Env: env,
		},
	}
}

// Asked is what who asks for d asked for, of which little may be known yet: what is
// written down of one that is refused.
func Asked(d book.Delegate, p paddock.Principal, door paddock.Door) paddock.Request {
	if d.Job != nil {
		return Request(d)
	}
	req := paddock.Request{Principal: p, Door: door, Room: Name}
	if d.Provider != "" {
		req.Command.Argv = []string{d.Provider}
	}
	return req
}

// Explain judges d, which has a principal, a door, a provider and a job without words, as
// if it began now with all the tools that the policy gives it, and changes nothing.
func Explain(ctx context.Context, j Judge, d book.Delegate) (paddock.Decision, error) {
	rules, err := j.Delegates()
	if err != nil {
		return paddock.Decision{}, err
	}
	if d.Provider, err = Choose(rules, d.Provider); err != nil {
		return paddock.Decision{}, err
	}
	if d.ID, err = book.NewID(j.Now()); err != nil {
		return paddock.Decision{}, err
	}
	d.Job.Argv, d.Tools = Job(rules, d.Provider).Argv, rules.Tools[d.Provider]
	return j.Explain(ctx, Request(d))
}
