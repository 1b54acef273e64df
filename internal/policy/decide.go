package policy

import (
	"slices"

	"paddock"
	"paddock/internal/policy/environ"
)

// Decide judges req. It never fails and has no side effect; a nil policy
// refuses with the facts' PolicyProblem or no_policy.
//
// Every gate is asked, so that a caller learns all reasons at once; a gate is
// skipped only when an earlier answer leaves it nothing to ask. The last one,
// the host program's hook, isn't ours: it is reported as skipped.
func Decide(p *Policy, req paddock.Request, facts Facts) paddock.Decision {
	j := judge{policy: p, req: req, facts: facts}
	j.decision.RequestDigest = req.Digest()
	j.decision.Gates = make([]paddock.GateResult, 0, len(paddock.Gates()))
	if !j.hasPolicy() {
		for _, g := range paddock.Gates()[1:] {
			j.skip(g, "there is no policy to ask")
		}
		j.decision.Effect = paddock.Deny
		return j.decision
	}
	j.decision.PolicyDigest = p.digest
	j.executable = p.find(req)

	j.argv()
	j.word()
	j.pin()
	j.arguments()
	j.directory()
	j.variables()
	j.stdin()
	j.limits()
	j.containment()
	j.rules()
	j.quota()
	j.skip(paddock.GateHook, "no hook")
	j.conclude()
	return j.decision
}

// A judge takes one request through the gates.
type judge struct {
	policy     *Policy
	req        paddock.Request
	facts      Facts
	executable *executable // nil unless argv[0] is a permitted word

	decision paddock.Decision
	refused  []paddock.Refusal // of the gate being asked
	// What the gates found, for the grant and for later gates.
	shapely   bool // argv is within its bounds
	placed    bool // the directory is inside a root
	allowedAt *paddock.Position
	granted   paddock.Limits
	env       map[string]string
}

// find returns the executable that the request's word stands for, by exact
// comparison with the policy's words.
func (p *Policy) find(req paddock.Request) *executable {
	if len(req.Command.Argv) == 0 {
		return nil
	}
	return p.byWord[req.Command.Argv[0]]
}

// refuse notes a reason of the gate being asked. A zero position is left out.
func (j *judge) refuse(at paddock.Position, r *paddock.Refusal) *paddock.Refusal {
	if at != (paddock.Position{}) {
		r.Position = &at
	}
	j.refused = append(j.refused, *r)
	return &j.refused[len(j.refused)-1]
}

// answer closes the gate: it passes unless something was refused since the
// last one. Detail says what was found when it passes.
func (j *judge) answer(g paddock.Gate, at paddock.Position, detail string) bool {
	result := paddock.GateResult{Gate: g, Verdict: paddock.Pass, Detail: detail}
	if at != (paddock.Position{}) {
		result.Position = &at
	}
	passed := len(j.refused) == 0
	if !passed {
		result.Verdict, result.Detail, result.Position = paddock.Refuse, j.refused[0].Message, j.refused[0].Position
		for i := range j.refused {
			j.refused[i].Gate = g
		}
		j.decision.Refusals = append(j.decision.Refusals, j.refused...)
		j.refused = j.refused[:0]
	}
	j.decision.Gates = append(j.decision.Gates, result)
	return passed
}

func (j *judge) skip(g paddock.Gate, why string) {
	j.decision.Gates = append(j.decision.Gates, paddock.GateResult{Gate: g, Verdict: paddock.Skipped, Detail: why})
}

func (j *judge) hasPolicy() bool {
	switch {
	case j.facts.PolicyProblem != nil:
		j.refused = append(j.refused, *j.facts.PolicyProblem)
	case j.policy == nil:
		j.refuse(paddock.Position{}, paddock.Refused(paddock.NoPolicy, "No policy applies here, so nothing may run."))
	default:
		return j.answer(paddock.GatePolicy, paddock.Position{}, j.policy.name)
	}
	return j.answer(paddock.GatePolicy, paddock.Position{}, "")
}

// conclude turns the answers into the effect: deny beats ask beats allow.
func (j *judge) conclude() {
	d := &j.decision
	switch {
	case len(d.Refusals) == 0:
		d.Effect = paddock.Allow
		d.Grant = j.grant()
	case slices.ContainsFunc(d.Refusals, func(r paddock.Refusal) bool { return r.Code != paddock.ApprovalRequired }):
		d.Effect = paddock.Deny
	default:
		d.Effect = paddock.Ask
	}
}

func (j *judge) grant() *paddock.Grant {
	e, f := j.executable, j.facts
	list, names := environ.List(j.env)
	return &paddock.Grant{
		Executable: paddock.Executable{
			Name: e.name, Path: e.path, Digest: f.Executable.Digest, Interpreters: slices.Clone(f.Executable.Interpreters),
		},
		Argv:             slices.Clone(j.req.Command.Argv),
		Root:             f.Dir.Root,
		Dir:              f.Dir.Real,
		EnvironmentNames: names,
		Environment:      list,
		Limits:           j.granted,
		Contain:          paddock.ContainAs{Level: j.policy.require},
		Rule:             j.allowedAt,
	}
}
