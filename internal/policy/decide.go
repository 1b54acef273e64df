package policy

import (
	"sync"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/above"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/environ/granting"
	celrule "paddock/internal/policy/compiled/rule"
	"paddock/internal/policy/tally"
)

// Decide judges req. It never fails and has no side effect; a nil policy
// refuses with the facts' PolicyProblem or no_policy.
//
// Every gate is asked, so that a caller learns all reasons at once; a gate is
// skipped only when an earlier answer leaves it nothing to ask. The last one,
// the host program's hook, isn't ours: it is reported as skipped.
func Decide(p *Policy, req paddock.Request, facts Facts) paddock.Decision {
	d := paddock.Decision{RequestDigest: req.Digest()}
	if p != nil {
		p = p.Applied(req.Principal, facts.Dir.Root)
	}
	j := judges.Get().(*judge) //nolint:errcheck // nothing else is put there
	defer j.leave()
	j.policy, j.req, j.facts = p, req, facts
	if !j.hasPolicy() {
		for _, g := range paddock.Gates()[1:] {
			j.Skip(g, "there is no policy to ask")
		}
		j.Conclude(&d)
		d.Effect = paddock.Deny // whatever the problem says of itself
		return d
	}
	d.PolicyDigest = p.Digest()
	j.executable = p.file.Find(req.Command.Argv)

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
	j.Skip(paddock.GateHook, "no hook")
	if j.Conclude(&d); d.Effect == paddock.Allow {
		d.Granted = j.grant()
	}
	return d
}

// judges are those that have no request. What decides makes next to no garbage but
// the decision: else it is the collector that says how long one in a hundred takes.
var judges = sync.Pool{New: func() any {
	j := new(judge)
	j.inside = func(word string) bool { return j.anywhere || j.facts.Paths[word].Inside }
	return j
}}

// leave has the judge forget the request, but for the room that it took.
func (j *judge) leave() {
	j.Forget()
	j.env.Reset()
	j.seen.Forget()
	*j = judge{Tally: j.Tally, env: j.env, seen: j.seen, inside: j.inside, scratch: j.scratch}
	judges.Put(j)
}

// A judge takes one request through the gates.
type judge struct {
	tally.Tally
	policy     *Policy
	req        paddock.Request
	facts      Facts
	executable *compiled.Executable // nil unless argv[0] is a permitted word

	// What the gates found, for the grant and for later gates.
	shapely     bool // argv is within its bounds
	placed      bool // the directory is inside a root
	allowedAt   *paddock.Position
	granted     paddock.Limits
	env         environ.Vars
	contain     paddock.ContainAs
	given, asks []string               // secrets, and names of variables
	seen        celrule.Asked          // what rules see
	inside      func(word string) bool // whether a path leads inside a root
	anywhere    bool                   // every path does
	scratch     []byte                 // which is used again
}

func (j *judge) hasPolicy() bool {
	switch {
	case j.facts.PolicyProblem != nil:
		j.Refuse(paddock.Position{}, j.facts.PolicyProblem)
	case j.policy == nil:
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.NoPolicy, "No policy applies here, so nothing may run."))
	case j.policy.file.Contradicts != "":
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.PolicyInvalid, "Parts of the policy that hold for this request can't be together: %s.", j.policy.file.Contradicts))
	default:
		return j.Answer(paddock.GatePolicy, paddock.Position{}, j.policy.said+j.facts.PolicyNotice)
	}
	return j.Answer(paddock.GatePolicy, paddock.Position{}, "")
}

// grant promises what the policy gives. What differs from what it says of the program
// for all its requests is told beside it.
func (j *judge) grant() paddock.Granted {
	e, f := j.executable, &j.facts
	a := granting.Asked{
		Executable: e, Rule: j.allowedAt, Argv: j.req.Command.Argv, Env: &j.env, Replaced: j.req.Command.ReplaceEnv != nil,
		Root: f.Dir.Root, Dir: f.Dir.Real, Digest: f.Executable.Digest,
		Rest: granting.Rest{Interpreters: f.Executable.Interpreters, Given: j.given, Account: f.Account},
	}
	if j.granted != e.Limits {
		a.Rest.Limits = &j.granted
	}
	if j.policy.room == "git" {
		j.contain = above.Of(j.contain, j.policy.room, f.Dir.Root)
		a.Rest.Contain = &j.contain
	}
	var p *granting.Promise
	p, j.scratch = granting.Of(&j.policy.file, &a, j.scratch)
	return paddock.GivenBy(p)
}
