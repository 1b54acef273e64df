package executor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock"
	"paddock/internal/executor/facts"
	"paddock/internal/policy"
	"paddock/internal/policy/environ"
	"paddock/internal/rundir"
)

// Explain judges req as Start would and changes nothing.
func (e *Executor) Explain(ctx context.Context, req paddock.Request) paddock.Decision {
	j := e.judge(ctx, req)
	defer j.found.Close()
	return j.decision
}

// judged is a decision with everything it was based on, still open.
type judged struct {
	policy   *policy.Policy
	facts    policy.Facts
	found    *facts.Found
	trouble  []paddock.Refusal // what stands against the request beside the policy
	decision paddock.Decision
}

// judge decides req. It is the one function behind Explain and Start. The
// caller closes what was found.
func (e *Executor) judge(ctx context.Context, req paddock.Request) judged {
	p, problem := e.cfg.Policy.Load()
	if problem != nil {
		p = nil
	}
	search := searchPath(p, req)
	j := e.look(ctx, p, req, search)
	j.facts.PolicyProblem = problem
	j.decision = policy.Decide(p, req, j.facts)
	// A script was followed with the PATH that we expected its program to get.
	if got, ok := pathIn(j.decision.Grant); ok && got != search {
		j.found.Close()
		j = e.look(ctx, p, req, got)
		j.decision = policy.Decide(p, req, j.facts)
	}
	deny(&j.decision, j.trouble...)
	if j.decision.Effect == paddock.Allow && e.cfg.Hook != nil {
		e.ask(ctx, req, &j.decision)
	}
	return j
}

// look finds out what p must know to judge req.
func (e *Executor) look(ctx context.Context, p *policy.Policy, req paddock.Request, search string) judged {
	if p == nil {
		return judged{found: &facts.Found{}}
	}
	wanted := p.Wanted(req)
	found := e.finder.Find(ctx, facts.Query{
		Wanted: wanted, Roots: p.Roots(), Dir: req.Command.Dir, Stdin: req.Command.Stdin.File, SearchPath: search,
	})
	if id := req.Command.Stdin.Run; id != "" && req.Command.Stdin.File == "" {
		found.Stdin, found.StdinFile = e.stdinOf(req.Principal, id, req.Command.Stdin.Stream)
	}
	j := judged{policy: p, found: found, trouble: unspeakable(req), facts: policy.Facts{
		Executable: found.Executable, Dir: found.Dir, Paths: found.Paths, Stdin: found.Stdin,
		HostEnv: map[string]string{}, Levels: []paddock.Level{paddock.Off},
	}}
	for _, name := range wanted.HostEnv {
		if value, ok := e.cfg.HostEnv(name); ok {
			j.facts.HostEnv[name] = value
		}
	}
	var err error
	if found.Dir.Root != "" {
		if j.facts.Home, err = e.state.Home(found.Dir.Root); err != nil {
			j.trouble = append(j.trouble, *unrecordable(err))
		}
	}
	err = e.state.Claim(ctx, func(c *rundir.Claim) (err error) {
		j.facts.Active, err = c.Active(req.Principal)
		return err
	})
	if err != nil {
		j.trouble = append(j.trouble, *unrecordable(err))
	}
	return j
}

func unrecordable(err error) *paddock.Refusal {
	return paddock.Refused(paddock.Unrecordable, "The run can't be written down: %v.", err)
}

// unspeakable refuses text that neither a record nor a supervisor can be told
// exactly: both are told in JSON, which has no words for stray bytes.
func unspeakable(req paddock.Request) []paddock.Refusal {
	c := req.Command
	var refusals []paddock.Refusal
	for _, values := range []map[string]string{c.Env, c.ReplaceEnv} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !utf8.ValidString(name) || !utf8.ValidString(values[name]) {
				refusals = append(refusals, *paddock.Refused(paddock.InvalidRequest, "The variable %q isn't valid UTF-8.", name))
			}
		}
	}
	if c.Stdin.Text != nil && !utf8.ValidString(*c.Stdin.Text) {
		r := paddock.Refused(paddock.StdinNotAllowed, "The text for standard input isn't valid UTF-8.")
		r.Hint = "Put the bytes in a file inside a root and give that."
		refusals = append(refusals, *r)
	}
	return refusals
}

// deny turns d into a refusal for further reasons, if there are any.
func deny(d *paddock.Decision, reasons ...paddock.Refusal) {
	if len(reasons) > 0 {
		d.Effect, d.Grant = paddock.Deny, nil
		d.Refusals = append(d.Refusals, reasons...)
	}
}

func searchPath(p *policy.Policy, req paddock.Request) string {
	if req.Command.ReplaceEnv != nil {
		return req.Command.ReplaceEnv["PATH"]
	}
	if p == nil {
		return ""
	}
	return environ.Path(p.Executables())
}

// pathIn returns the PATH of a granted environment.
func pathIn(g *paddock.Grant) (string, bool) {
	if g == nil {
		return "", false
	}
	for _, v := range g.Environment {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			return value, true
		}
	}
	return "", true
}
