package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/environ"
	celrule "paddock/internal/policy/rule"
	"paddock/internal/policy/wellformed"
)

const (
	// maxVariable is the longest NAME=value that Linux hands to a program.
	maxVariable  = 128<<10 - 1
	maxVariables = 1000
)

// directory asks whether the working directory is inside a root.
func (j *judge) directory() {
	dir, f := j.req.Command.Dir, j.facts.Dir
	at := j.policy.sections["roots"]
	asked := quote(dir)
	if dir == "" {
		asked = "the first root"
	}
	switch {
	case !wellformed.Path(dir):
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The working directory must be a path of at most %d bytes of UTF-8 without NUL.", wellformed.MaxPath))
	case !f.Found:
		j.refuse(at, paddock.Refused(paddock.CwdMissing, "The working directory, %s, doesn't exist or isn't a directory. Roots: %s.", asked, list(j.policy.roots)))
	case f.Real == "" || !slices.Contains(j.policy.roots, f.Root):
		where := asked
		if f.Real != "" && f.Real != dir {
			where += ", which is " + shown(f.Real) + ","
		}
		j.refuse(at, paddock.Refused(paddock.CwdOutsideRoot, "The working directory, %s, isn't inside a root. Roots: %s.", strings.TrimSuffix(where, ","), list(j.policy.roots)))
	}
	j.placed = j.answer(paddock.GateDirectory, at, shown(f.Real))
}

// variables builds the program's environment from nothing and judges what the
// caller asks for.
func (j *judge) variables() {
	c := j.req.Command
	switch {
	case c.ReplaceEnv == nil:
		j.env = j.built()
		j.accepted(c.Env)
	case j.req.Door != paddock.DoorGo:
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "Only a program that embeds Paddock can replace the environment."))
	case len(c.Env) > 0:
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The environment is either replaced or added to, not both."))
	default:
		j.env = maps.Clone(c.ReplaceEnv)
	}
	j.presentable(c.EnvironmentNames())
	if secret := j.secrets(); secret != nil {
		j.refuse(j.policy.sections["environment"], paddock.Refused(paddock.SecretInEnvironment,
			"The program's environment would contain %s, which looks like a secret.", list(secret)))
	}
	j.answer(paddock.GateEnvironment, j.policy.sections["environment"], fmt.Sprintf("%d variables", len(j.env)))
}

// built is the environment without what the caller adds: the later beats the
// earlier, and what one executable says beats what is said for all.
func (j *judge) built() map[string]string {
	p := j.policy
	env := map[string]string{"PATH": p.path}
	if j.facts.Home != "" {
		env["HOME"] = j.facts.Home
	}
	add := func(e environment) {
		for _, name := range e.pass {
			if value, ok := j.facts.HostEnv[name]; ok {
				env[name] = value
			}
		}
		for _, pair := range e.set {
			env[pair.Name.Value] = pair.Value.Value
		}
	}
	add(p.environment)
	if j.executable != nil {
		add(j.executable.environment)
	}
	if j.facts.Dir.Real != "" {
		env["PWD"] = j.facts.Dir.Real
	}
	return env
}

// accepted adds the variables that the caller asks for, where the policy takes
// them from callers. Values are compared and never shown.
func (j *judge) accepted(asked map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		token, ok := j.policy.environment.accept[name]
		value := asked[name]
		switch {
		case !ok:
			r := paddock.Refused(paddock.EnvironmentNotAllowed, "The policy doesn't accept the variable %s from callers. Accepted: %s.", quote(name), list(j.acceptedNames()))
			if environ.IsSteering(name) {
				r.Hint = "Leave the variable out: it can change what a command does, so no policy accepts it from callers."
			}
			j.refuse(j.policy.sections["environment"], r)
		case !token.Match(value):
			j.refuse(j.policy.sections["environment"], paddock.Refused(paddock.EnvironmentNotAllowed, "The value of %s isn't `%s`, which the policy demands.", name, token.Text()))
		case token.IsPath() && !j.facts.Paths[value].Inside:
			j.refuse(j.policy.sections["environment"], paddock.Refused(paddock.PathOutsideRoot, "The value of %s must be a path inside a root and isn't.", name))
		default:
			j.env[name] = value
		}
	}
}

func (j *judge) acceptedNames() []string {
	return slices.Sorted(maps.Keys(j.policy.environment.accept))
}

// presentable refuses what no program can receive.
func (j *judge) presentable(asked []string) {
	for _, name := range asked {
		if !environ.IsName(name) {
			j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s can't be the name of a variable; want letters, digits and _, not a digit first.", quote(name)))
			return
		}
	}
	if len(j.env) > maxVariables {
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The environment has %d variables; at most %d are allowed.", len(j.env), maxVariables))
	}
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		value := j.env[name]
		if strings.IndexByte(value, 0) >= 0 || len(name)+1+len(value) > maxVariable {
			j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The value of %s contains a NUL byte or is longer than a program can receive.", quote(name)))
		}
	}
}

func (j *judge) secrets() []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		if environ.IsSecret(name) {
			found = append(found, shown(name))
		}
	}
	return found
}

// stdin asks whether what the program is to read can be given.
func (j *judge) stdin() {
	s, detail := j.req.Command.Stdin, "empty"
	invalid := wellformed.Stdin(s)
	switch {
	case invalid != "":
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s", invalid))
	case s.Text != nil && len(*s.Text) > wellformed.MaxStdinText:
		j.refuse(paddock.Position{}, paddock.Refused(paddock.StdinNotAllowed, "The text for standard input has %d bytes; at most %d can be given.", len(*s.Text), wellformed.MaxStdinText))
	case s.Text != nil:
		detail = "text"
	case s.IsZero():
	case !j.facts.Stdin.Checked:
		j.refuse(paddock.Position{}, paddock.Refused(paddock.StdinNotAllowed, "The standard input asked for wasn't looked at."))
	case j.facts.Stdin.Problem != "":
		j.refuse(paddock.Position{}, paddock.Refused(paddock.StdinNotAllowed, "The standard input asked for can't be given: %s.", shown(strings.TrimSuffix(j.facts.Stdin.Problem, "."))))
	case s.Run != "":
		detail = "a run's output"
	default:
		detail = "a file"
	}
	j.answer(paddock.GateStdin, paddock.Position{}, detail)
}

// limits asks whether the caller wants no more than the policy gives.
func (j *judge) limits() {
	c := j.req.Command
	if c.Timeout < 0 {
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The timeout is below zero."))
	}
	if c.OutputLimit < 0 {
		j.refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The output limit is below zero."))
	}
	e := j.executable
	if e == nil {
		if len(j.refused) == 0 {
			j.skip(paddock.GateLimits, "no executable whose limits could be asked")
		} else {
			j.answer(paddock.GateLimits, paddock.Position{}, "")
		}
		return
	}
	if c.Timeout > e.limits.Timeout {
		r := paddock.Refused(paddock.LimitExceeded, "The timeout asked for, %s, is more than the maximum, %s.", c.Timeout, e.limits.Timeout)
		r.Hint = fmt.Sprintf("Ask for a timeout of at most %s (%d ms), or leave it out.", e.limits.Timeout, time.Duration(e.limits.Timeout).Milliseconds())
		j.refuse(e.limitsAt, r)
	}
	if c.OutputLimit > e.limits.Output {
		r := paddock.Refused(paddock.LimitExceeded, "The output limit asked for, %d bytes, is more than the maximum, %d bytes.", c.OutputLimit, e.limits.Output)
		r.Hint = fmt.Sprintf("Ask for an output limit of at most %d bytes, or leave it out.", e.limits.Output)
		j.refuse(e.limitsAt, r)
	}
	j.granted = e.limits
	j.granted.Timeout = or(c.Timeout, e.limits.Timeout)
	j.granted.Output = or(c.OutputLimit, e.limits.Output)
	j.answer(paddock.GateLimits, e.limitsAt, fmt.Sprintf("%s, %d bytes per stream", j.granted.Timeout, j.granted.Output))
}

// containment asks whether what the policy requires can be given here.
func (j *judge) containment() {
	require, at := j.policy.require, j.policy.sections["containment"]
	if !slices.Contains(j.facts.Levels, require) {
		r := paddock.Refused(paddock.ContainmentUnavailable, "The policy requires containment `%s`, which can't be given here.", or(require, paddock.Full))
		if at == (paddock.Position{}) {
			r.Message = fmt.Sprintf("The policy says nothing of containment and so requires `%s`, which can't be given here.", or(require, paddock.Full))
		}
		if len(j.facts.Levels) == 0 {
			r.Hint = "This version runs commands on Linux only; here it can check and explain policies."
		}
		j.refuse(at, r)
	}
	j.answer(paddock.GateContainment, at, string(require))
}

// rules asks the policy's CEL rules: deny beats ask, and a rule that can't be
// evaluated denies.
func (j *judge) rules() {
	switch {
	case len(j.policy.rules) == 0:
		j.answer(paddock.GateRules, paddock.Position{}, "no rules")
		return
	case !j.shapely || j.executable == nil || !j.placed:
		j.skip(paddock.GateRules, "rules need a command in shape, its executable and its directory")
		return
	}
	c := j.req.Command
	a := celrule.Prepare(celrule.Input{
		Argv: c.Argv, Executable: j.executable.word(), Path: j.executable.path, Cwd: j.facts.Dir.Real,
		Principal: j.req.Principal.ID, PrincipalKind: string(j.req.Principal.Kind),
		Env: c.EnvironmentNames(), Stdin: !c.Stdin.IsZero(),
	})
	var asks []*rule
	for i := range j.policy.rules {
		r := &j.policy.rules[i]
		applies, err := r.rule.Eval(a)
		switch {
		case err != nil:
			refusal := paddock.Refused(paddock.RuleDenied, "Rule `%s` can't be evaluated for this request, so it denies: %v.", r.name, err)
			refusal.Hint = "The operator corrects the rule."
			refusal.Rule = r.name
			j.refuse(r.at, refusal)
		case applies && r.ask:
			asks = append(asks, r)
		case applies:
			j.refuse(r.at, r.refusal(paddock.RuleDenied, "denies"))
		}
	}
	for _, r := range asks {
		j.refuse(r.at, r.refusal(paddock.ApprovalRequired, "wants a person's approval for"))
	}
	j.answer(paddock.GateRules, j.policy.sections["rules"], fmt.Sprintf("none of %d applies", len(j.policy.rules)))
}

// refusal is the rule's answer, in its own words where it has some.
func (r *rule) refusal(code paddock.Code, verb string) *paddock.Refusal {
	message := r.message
	if message == "" {
		message = fmt.Sprintf("Rule `%s` %s this request.", r.name, verb)
	}
	refusal := paddock.Refused(code, "%s", message)
	refusal.Rule = r.name
	return refusal
}

// quota asks whether the principal may have one more run.
func (j *judge) quota() {
	active, most := j.facts.Active, j.policy.concurrent
	if active >= most {
		j.refuse(j.policy.sections["limits"], paddock.Refused(paddock.Busy, "%d runs of yours are going on; at most %d may at once.", active, most))
	}
	j.answer(paddock.GateQuota, j.policy.sections["limits"], fmt.Sprintf("%d of %d runs", active, most))
}
