package policy

import (
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/allowance"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/environ"
	celrule "paddock/internal/policy/compiled/rule"
	"paddock/internal/policy/known/secret"
	"paddock/internal/policy/known/usage"
	"paddock/internal/policy/wellformed"
	"paddock/internal/policy/wellformed/phrase"
)

// directory asks whether the working directory is inside a root.
func (j *judge) directory() {
	dir, f := j.req.Command.Dir, &j.facts.Dir
	at := j.policy.file.Sections["roots"]
	roots, workspace := j.policy.file.Roots, j.req.Command.Workspace
	switch {
	case !wellformed.Path(dir):
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The working directory must be a path of at most %d bytes of UTF-8 without NUL.", wellformed.MaxPath))
	case !f.Found && !f.Apart:
		j.Refuse(at, phrase.NoDirectory(dir, phrase.Roots(roots, workspace, f.Apart)))
	case f.Apart || f.Real == "" || !slices.Contains(wellformed.Roots(roots, workspace), f.Root):
		j.Refuse(at, phrase.OutsideRoots(dir, f.Real, phrase.Roots(roots, workspace, f.Apart)))
	}
	j.Own(phrase.Shown(f.Real))
	j.placed = j.Answer(paddock.GateDirectory, at, "")
}

// variables builds the program's environment from nothing and judges what the
// caller asks for.
func (j *judge) variables() {
	c := &j.req.Command
	names := c.EnvironmentNames()
	j.asks = names
	if j.executable != nil {
		j.given = secret.GivenTo(j.policy.file.Given, j.executable.Word())
	}
	switch {
	case c.ReplaceEnv == nil:
		j.policy.file.Variables(&j.env, j.executable, j.facts.HostEnv, j.facts.Home, j.facts.Dir.Real)
		environ.OnTerminal(c.Terminal, &j.env)
		j.accepted(names, c.Env)
	case j.req.Door != paddock.DoorGo:
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "Only a program that embeds Paddock can replace the environment."))
	case len(c.Env) > 0:
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "The environment is either replaced or added to, not both."))
	default:
		j.env = environ.Of(c.ReplaceEnv)
	}
	j.presentable(names)
	if names := j.env.Secrets(); names != nil {
		j.Refuse(j.policy.file.Sections["environment"], paddock.Refused(paddock.SecretInEnvironment,
			"The program's environment would contain %s, which looks like a secret.", phrase.Names(names)))
	}
	for _, r := range secret.Twice(j.given, j.env.Names) {
		j.Refuse(j.policy.file.Sections["secrets"], r)
	}
	if held := secret.Held(j.env.Names, j.env.Values, j.facts.Secrets); held != nil {
		j.Refuse(j.policy.file.Sections["secrets"], paddock.Refused(paddock.SecretInEnvironment, "The program's environment would contain %s.", phrase.Names(held)))
	}
	j.Count(int64(len(j.env.Names)))
	j.Say(" variables")
	j.Answer(paddock.GateEnvironment, j.policy.file.Sections["environment"], secret.Named(j.given))
}

// accepted adds the variables that the caller asks for, where the policy takes
// them from callers. Values are compared and never shown.
func (j *judge) accepted(names []string, asked map[string]string) {
	for _, name := range names {
		token, ok := j.policy.file.Environment.Accept[name]
		value := asked[name]
		for _, also := range j.policy.file.Environment.Also[name] {
			if token.Match(value) && (!also.Match(value) || also.IsPath()) {
				token = also // the narrower one says what is wrong
			}
		}
		switch {
		case !ok:
			r := paddock.Refused(paddock.EnvironmentNotAllowed, "The policy doesn't accept the variable %s from callers. Accepted: %s.", phrase.Quote(name), phrase.List(j.policy.file.Environment.Accepted()))
			if environ.IsSteering(name) {
				r.Hint = "Leave the variable out: it can change what a command does, so no policy accepts it from callers."
			}
			j.Refuse(j.policy.file.Sections["environment"], r)
		case !token.Match(value):
			j.Refuse(j.policy.file.Sections["environment"], paddock.Refused(paddock.EnvironmentNotAllowed, "The value of %s isn't `%s`, which the policy demands.", name, token.Text()))
		case token.IsPath() && !j.facts.Paths[value].Inside:
			j.Refuse(j.policy.file.Sections["environment"], paddock.Refused(paddock.PathOutsideRoot, "The value of %s must be a path inside a root and isn't.", name))
		default:
			j.env.SetOwn(name, value)
		}
	}
}

// presentable refuses what no program can receive.
func (j *judge) presentable(asked []string) {
	for _, name := range asked {
		if !environ.IsName(name) {
			j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s can't be the name of a variable; want letters, digits and _, not a digit first.", phrase.Quote(name)))
			return
		}
	}
	for _, problem := range wellformed.Variables(j.env.Names, j.env.Values) {
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s", problem))
	}
}

// stdin asks whether what the program is to read can be given.
func (j *judge) stdin() {
	s, detail := j.req.Command.Stdin, "empty"
	switch invalid := wellformed.Stdin(&j.req.Command); {
	case invalid != "":
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s", invalid))
	case s.Text != nil && len(*s.Text) > wellformed.MaxStdinText:
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.StdinNotAllowed, "The text for standard input has %d bytes; at most %d can be given.", len(*s.Text), wellformed.MaxStdinText))
	case s.Text != nil:
		detail = "text"
	case j.req.Command.Terminal != nil:
		if detail = "a terminal"; j.executable != nil && !j.executable.PTY {
			j.Refuse(j.executable.At, phrase.NoTerminal(j.executable.Word()))
		}
	case s.IsZero():
	case j.facts.Stdin.Trouble() != "":
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.StdinNotAllowed, "The standard input asked for can't be given: %s.", phrase.Shown(strings.TrimSuffix(j.facts.Stdin.Trouble(), "."))))
	default:
		j.Own(j.facts.Stdin.Said(s))
		detail = ""
	}
	j.Answer(paddock.GateStdin, paddock.Position{}, detail)
}

// limits asks whether the caller wants no more than the policy gives.
func (j *judge) limits() {
	for _, r := range allowance.Senseless(&j.req.Command) {
		j.Refuse(paddock.Position{}, r)
	}
	e := j.executable
	if e == nil {
		if !j.Refusing() {
			j.Skip(paddock.GateLimits, "no executable whose limits could be asked")
		} else {
			j.Answer(paddock.GateLimits, paddock.Position{}, "")
		}
		return
	}
	for _, r := range allowance.Exceeded(&j.req.Command, &e.Limits) {
		j.Refuse(e.LimitsAt, r)
	}
	j.granted = allowance.Of(&j.req.Command, &e.Limits)
	j.Spend(j.granted.Timeout, ", ")
	j.Count(j.granted.Output)
	j.Answer(paddock.GateLimits, e.LimitsAt, " bytes per stream")
}

// containment asks whether what the policy requires can be given here.
func (j *judge) containment() {
	j.contain = j.policy.file.ContainFor(j.executable, j.facts.Account)
	as, at := &j.contain, j.policy.file.Sections["containment"]
	for _, r := range j.policy.file.Uncontained(*as, j.facts.Levels, j.facts.Unavailable, j.facts.Unowned) {
		j.Refuse(at, r)
	}
	left, unheld := allowance.Held(j.granted, j.facts.Held, j.facts.Unheld)
	for _, r := range unheld { // none without an executable, which grants nothing
		j.Refuse(j.executable.LimitsAt, r)
	}
	j.granted = left
	for _, r := range append(secret.Refusals(as.Inject, j.facts.Secrets), secret.Ungiven(j.given, j.facts.Secrets)...) {
		j.Refuse(j.policy.file.Sections["secrets"], r)
	}
	j.Say(as.String())
	j.Answer(paddock.GateContainment, at, secret.Notes(as.Inject, j.given, j.facts.Secrets))
}

// rules asks the policy's CEL rules: deny beats ask, and a rule that can't be
// evaluated denies.
func (j *judge) rules() {
	switch {
	case len(j.policy.file.Rules) == 0:
		j.Answer(paddock.GateRules, paddock.Position{}, "no rules")
		return
	case !j.shapely || j.executable == nil || !j.placed:
		j.Skip(paddock.GateRules, "rules need a command in shape, its executable and its directory")
		return
	}
	c := &j.req.Command
	j.seen.Begin(celrule.Input{
		Argv: c.Argv, Executable: j.executable.Word(), Path: j.executable.Path, Cwd: j.facts.Dir.Real,
		Env: j.asks, Stdin: !c.Stdin.IsZero() || c.Terminal != nil,
	}, j.req.Principal)
	var asks []*compiled.Rule
	for i := range j.policy.file.Rules {
		r := &j.policy.file.Rules[i]
		applies, err := r.Rule.Any(&j.seen)
		switch {
		case err != nil:
			j.Refuse(r.At, r.Unanswered(err))
		case applies && r.Ask:
			asks = append(asks, r)
		case applies:
			j.Refuse(r.At, r.Refusal(paddock.RuleDenied, "denies"))
		}
	}
	for _, r := range asks {
		if !j.facts.Approved || r.Floor {
			j.Refuse(r.At, r.Wants())
		}
	}
	j.Answer(paddock.GateRules, j.policy.file.Sections["rules"], phrase.Rules(len(asks), len(j.policy.file.Rules)))
}

// quota asks whether the principal may have one more run.
func (j *judge) quota() {
	active, most := j.facts.Active, j.policy.Concurrent()
	if active >= most {
		j.Refuse(j.policy.file.Sections["limits"], paddock.Refused(paddock.Busy, "%d runs of yours are going on; at most %d may at once.", active, most))
	}
	at := j.policy.file.Sections["limits"]
	j.Count(int64(active))
	j.Own(" of ")
	j.Count(int64(most))
	j.Say(" runs")
	for _, c := range usage.Counters(j.policy.file.Quotas, j.facts.Usage) {
		at = j.policy.file.Sections["quotas"]
		j.Own("; ", c.String())
		if c.Left() == 0 {
			j.Refuse(at, c.Refusal())
		}
	}
	j.Answer(paddock.GateQuota, at, "")
}
