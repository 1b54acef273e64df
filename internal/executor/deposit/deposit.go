// Package deposit keeps what somebody gives, beside what programs print: a report,
// an answer, a result. It has a record as runs have, so that it is read, kept,
// pruned and accounted for in the same way; its state is banked, since there was
// no program, and what was given is its stdout.
//
// # Limits
//
// It doesn't ask who may; package app does. What is given is in memory, and no
// more than the policy lets one stream have.
package deposit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/books"
	"paddock/internal/policy"
	"paddock/internal/policy/known/usage"
	"paddock/internal/policy/wellformed"
	"paddock/internal/rundir"
)

// Notes is what tells the journal.
type Notes interface {
	Prepare(ctx context.Context, state *rundir.State, id paddock.RunID, rec rundir.Intent) (*rundir.Dir, error)
	Abandoned(ctx context.Context, id paddock.RunID, why error)
	// Ended tells the end of a settled run that has no supervisor.
	Ended(dir *rundir.Dir) error
}

// A Desk takes what is given into one state directory.
type Desk struct {
	State  *rundir.State
	Notes  Notes
	Policy func() (*policy.Policy, error)
	Now    func() time.Time
}

// Bank keeps payload for p. It is there, whole and durable, or there is nothing.
func (d Desk) Bank(ctx context.Context, p paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error) {
	rules, err := d.Policy()
	if err != nil {
		return paddock.Run{}, err
	}
	req := paddock.Request{Principal: p, Door: door, Command: paddock.Command{Argv: []string{}, Label: label}}
	if refusal := fit(req, rules, payload); refusal != nil {
		return paddock.Run{}, refusal
	}
	now := d.Now()
	id, err := paddock.NewRunID(now, nil)
	if err != nil {
		return paddock.Run{}, err
	}
	dir, err := d.Notes.Prepare(ctx, d.State, id, rundir.Intent{Request: req, Decision: allowed(req, rules), CreatedAt: now})
	if err != nil {
		return paddock.Run{}, unrecordable(ctx, err)
	}
	err = d.fill(dir, p, payload)
	if err == nil {
		err = d.State.Claim(ctx, func(c *rundir.Claim) error {
			if err := room(ctx, c, d.State, p, rules, dir.ID(), now, int64(len(payload))); err != nil {
				return err
			}
			return c.Publish(dir, "")
		})
	}
	if err != nil {
		d.Notes.Abandoned(ctx, id, err)
		return paddock.Run{}, errors.Join(unrecordable(ctx, err), dir.Abandon(), dir.ReleaseLock())
	}
	// From here on it is there; what fails now is done by whoever reconciles next.
	err = errors.Join(dir.ReleaseLock(), d.State.MarkSeen(p, id), d.Notes.Ended(dir))
	run, unread := dir.Record(d.Now())
	return run, errors.Join(err, unread)
}

// fit refuses what is too large, or hasn't a name.
func fit(req paddock.Request, rules *policy.Policy, payload []byte) *paddock.Refusal {
	label := req.Command.Label
	most := rules.Limits().Output
	switch {
	case label == "" || len(label) > wellformed.MaxLabel || !wellformed.OneLine(label):
		return paddock.Refused(paddock.InvalidRequest, "What is to be kept needs a label: one line of at most %d bytes of text.", wellformed.MaxLabel)
	case int64(len(payload)) > most:
		r := paddock.Refused(paddock.LimitExceeded, "What is to be kept has %d bytes; the policy's limit of output is %d.", len(payload), most)
		r.Gate, r.Hint = "", "Give less, or in parts; or the operator raises `limits.output`."
		return r
	}
	return nil
}

// room refuses what a quota has no room for, and notes the rest.
func room(ctx context.Context, c *rundir.Claim, state *rundir.State, p paddock.Principal, rules *policy.Policy, id paddock.RunID, now time.Time, bytes int64) error {
	kept, root := &books.Books{State: state}, ""
	if roots := rules.Roots(); len(roots) > 0 {
		root = roots[0]
	}
	if q := rules.Quotas(p, root); q != (paddock.Quotas{}) {
		used, err := kept.Look(ctx, c, p.Root(), now)
		if err != nil {
			return err
		}
		if left, by := usage.Room(usage.Counters(q, used)); by != nil && left < bytes {
			r := by.Refusal()
			r.Message = fmt.Sprintf("What is to be kept has %d bytes, and there is room for %d: %s", bytes, left, r.Message)
			return r
		}
	}
	return kept.Note(ctx, c, p.Root(), id, now, 0, bytes)
}

// allowed is the decision: the policy permits by being there. Its roots say whose
// retention it is under.
func allowed(req paddock.Request, rules *policy.Policy) paddock.Decision {
	grant := &paddock.Grant{EnvironmentNames: []string{}, Limits: paddock.Limits{Timeout: paddock.Duration(time.Second), Output: rules.Limits().Output}}
	if roots := rules.Roots(); len(roots) > 0 {
		grant.Root, grant.Dir = roots[0], roots[0]
	}
	return paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), PolicyDigest: rules.Digest(), Granted: paddock.Gives(grant),
		Gates: paddock.AnswersOf(paddock.GateResult{Gate: paddock.GatePolicy, Verdict: paddock.Pass, Detail: "what is given is kept; no program runs"}),
	}
}

// fill writes the output and the outcome of the run that nobody sees yet.
func (d Desk) fill(dir *rundir.Dir, p paddock.Principal, payload []byte) error {
	outcome := paddock.Outcome{State: paddock.Banked, Reason: paddock.Reason{Kind: paddock.ReasonBanked, By: p.ID}, EndedAt: d.Now()}
	bank, err := artifact.Create(dir.Path(), artifact.Options{Cap: max(1, int64(len(payload))), Now: d.Now})
	if err != nil {
		return err
	}
	kept, over, err := bank.Append(paddock.Stdout, payload)
	if err == nil && (over || kept != len(payload)) {
		err = fmt.Errorf("%d of %d bytes were kept", kept, len(payload))
	}
	var sealed error
	outcome.Stdout, outcome.Stderr, sealed = bank.Seal()
	if err := errors.Join(err, sealed, bank.Close()); err != nil {
		return err
	}
	outcome.SettledAt = d.Now()
	_, err = dir.PublishOutcome(outcome)
	return err
}

func unrecordable(ctx context.Context, err error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := errors.AsType[*paddock.Refusal](err); ok {
		return err
	}
	return paddock.Refused(paddock.Unrecordable, "What was given can't be kept: %v.", err)
}
