package judge

import (
	"context"
	"path/filepath"
	"slices"

	"paddock"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/executor/judge/matter"
	"paddock/internal/executor/judge/source"
	"paddock/internal/executor/judge/speech"
	"paddock/internal/policy"
)

// decide has the policy judge what was found, and as if it were approved if it can be.
func (j *Judgement) decide(p *policy.Policy, req paddock.Request) {
	j.Decision, j.would = policy.Decide(p, req, j.facts), nil
	if j.Decision.Effect != paddock.Ask || len(p.Approvals().Keys) == 0 {
		return
	}
	approved := j.facts
	approved.Approved = true
	if d := policy.Decide(p, req, approved); d.Effect == paddock.Allow {
		j.would = &d
	}
}

// granted is what the request gets, or would get if it were approved.
func (j *Judgement) granted() *paddock.Grant {
	if j.would != nil {
		return j.would.Grant()
	}
	return j.Decision.Grant()
}

// conclude adds what else stands against the request, and the hook's word.
func (j *Judgement) conclude(ctx context.Context, by *Judge, reasons []paddock.Refusal) {
	if j.would == nil {
		deny(&j.Decision, reasons...)
		if j.Decision.Effect == paddock.Allow && by.cfg.Hook != nil {
			by.ask(ctx, j.request, &j.Decision)
		}
		return
	}
	reasons = slices.Concat(reasons, speech.Changeable(j.request.Command.Stdin))
	deny(j.would, reasons...)
	if j.would.Effect == paddock.Allow && by.cfg.Hook != nil {
		by.ask(ctx, j.request, j.would)
	}
	if j.would.Effect != paddock.Allow { // no approval would help
		deny(&j.Decision, j.would.Refusals...)
		j.would = nil
		return
	}
	for i := range j.Decision.Refusals {
		r := &j.Decision.Refusals[i]
		r.Retryable, r.Hint = true, speech.Approvable(r.SecondFactor)
	}
}

// Asks reports whether persons can approve the request.
func (j *Judgement) Asks() bool { return j.Fault == nil && j.would != nil }

// Approvals says who can approve, by the policy that judged.
func (j *Judgement) Approvals() paddock.Approvals { return j.policy.Approvals() }

// Approve makes j the decision that was approved. It must ask.
func (j *Judgement) Approve(id paddock.ApprovalID) {
	j.Decision, j.facts.Approved, j.would = *j.would, true, nil
	j.Decision.Approval = id
}

// Matter is what an approval of j is bound to. It must ask.
func (j *Judgement) Matter(ctx context.Context) (paddock.Matter, error) {
	stdin, err := matter.Stdin(j.state, j.request.Command.Stdin)
	if err != nil {
		return paddock.Matter{}, err
	}
	m, err := matter.Of(ctx, j.request.Principal, *j.would, j.Decision.Refusals, j.programs(j.would.Grant()), j.Found.Launch.File, stdin)
	m.Terminal = j.request.Command.Terminal != nil
	return m, err
}

// Claimed has j, which judged a waiting run anew, be given what the run was when it
// was claimed.
func (j *Judgement) Claimed(room budget.Room) { j.room = room }

// Basis is what j was based on beside the request, and what is there no more when who
// asked is gone: the file of the policy, empty where that isn't one, and the host's
// variables that it passes on.
func (j *Judgement) Basis() (file string, env map[string]string) {
	if name := j.policy.Name(); filepath.IsAbs(name) {
		file = name
	}
	return file, j.facts.HostEnv
}

// On is a Judge like j of another policy and another host.
func (j *Judge) On(policy source.Source, env map[string]string) *Judge {
	other := *j
	other.cfg.Policy = policy
	other.cfg.HostEnv = func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
	return &other
}
