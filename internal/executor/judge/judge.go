// Package judge decides requests: it asks the policy's source, looks at the
// machine, lets the policy decide, and then asks the host program's hook. One
// function does it, whether the request is only explained or carried out.
//
// # Limits
//
// A [Judgement] is of the moment: others may start runs meanwhile, which
// [Judgement.Busy] answers. Nothing here starts or records a run.
package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/executor/judge/account"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/executor/judge/facts"
	"paddock/internal/executor/judge/held"
	"paddock/internal/executor/judge/search"
	"paddock/internal/executor/judge/secrets"
	"paddock/internal/executor/judge/source"
	"paddock/internal/executor/judge/speech"
	"paddock/internal/lineage"
	"paddock/internal/policy"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/disk"
	"paddock/internal/trust"
)

// A Config says what a Judge works with. Policy, State and Now must be set.
type Config struct {
	// Policy gives the policy for each request.
	Policy source.Source
	// State is where runs are counted and homes and kept outputs are.
	State *rundir.State
	// HostEnv returns the host's variables that a policy may pass on; nil means
	// that there are none.
	HostEnv func(name string) (value string, ok bool)
	// Hook is asked last, when everything else allows; nil allows.
	Hook Hook
	Now  func() time.Time
	// Levels lists what containment can be given here, and of each other level
	// what is missing; nil means that this machine is asked.
	Levels func() ([]paddock.Level, map[paddock.Level]string)
	// Disk says how many bytes of the disk of a directory are free, and how large
	// it is; nil means that it is asked.
	Disk func(dir string) (free, size int64, err error)
	// Apart are directories that hold workspaces; see facts.Query.
	Apart []string
}

// A Judge judges requests. Its methods may be called concurrently.
type Judge struct {
	cfg    Config
	finder *facts.Finder
	owner  trust.Owner // whose secrets are believed, beside root's
	held   *held.Held
}

// New returns a Judge.
func New(cfg Config) *Judge {
	if cfg.HostEnv == nil {
		cfg.HostEnv = func(string) (string, bool) { return "", false }
	}
	if cfg.Levels == nil {
		host := contain.Probe() // once: it reads a dozen files
		cfg.Levels = func() ([]paddock.Level, map[paddock.Level]string) { return host.Levels(), host.Unavailable() }
	}
	if cfg.Disk == nil {
		cfg.Disk = disk.Free
	}
	return &Judge{cfg: cfg, finder: facts.New(), owner: trust.User(), held: new(held.Held)}
}

// A Judgement is a decision with everything it was based on, still open.
type Judgement struct {
	Decision paddock.Decision
	// Found holds the descriptors of what was looked at.
	Found *facts.Found
	// Fault is set when nothing could be judged, by no fault of the request's or the
	// policy's, as when no descriptors are left. Then Decision means nothing.
	Fault error
	// Trouble is a change of the policy that doesn't count; nil if there is none.
	Trouble *lineage.Trouble
	// Door is what the program gets as a further descriptor; nil is none.
	Door *os.File

	request  paddock.Request
	state    *rundir.State
	policy   *policy.Policy
	whole    *policy.Policy // that policy is a section of, or is
	facts    policy.Facts
	trove    secrets.Trove
	budget   budget.Budget
	reserved int64
	room     budget.Room
	trouble  []paddock.Refusal // what stands against the request beside the policy
	// would is the decision if persons approved; nil where that changes nothing.
	would *paddock.Decision
}

// Home is the private home directory of the workspace.
func (j *Judgement) Home() string { return j.facts.Home }

// PolicyText is the text of the policy that judged.
func (j *Judgement) PolicyText() []byte {
	if j.policy == nil {
		return nil
	}
	return j.policy.Text()
}

// Close closes what was found.
func (j *Judgement) Close() { j.Found.Close() }

// Allows returns nil if the request may be carried out, or what is against it: a
// [*paddock.Refusal], or a fault.
func (j *Judgement) Allows() error {
	if j.Fault != nil {
		return j.Fault
	}
	if refusal := j.Decision.Refusal(); refusal != nil {
		return refusal
	}
	if j.Decision.Effect != paddock.Allow || j.Decision.Grant() == nil || j.Found.Launch == nil || j.Found.DirFile == nil {
		return fmt.Errorf("bug: the decision %q has neither a refusal nor all that it takes", j.Decision.Effect)
	}
	return nil
}

// Take asks the policy again, for what others have started and used meanwhile, and
// returns the refusal if it now refuses. Else it notes what run id may use.
func (j *Judgement) Take(ctx context.Context, c *rundir.Claim, id paddock.RunID, now time.Time) (err error) {
	again, by := j.facts, j.request.Principal
	if again.Active, again.Usage, err = j.budget.Facts(ctx, c, by, j.policy.Quotas(by, again.Dir.Root), now); err != nil {
		return err
	}
	if refusal := policy.Decide(j.policy, j.request, again).Refusal(); refusal != nil {
		return refusal
	}
	j.room, err = j.budget.Take(ctx, c, by, id, j.policy.Quotas(by, again.Dir.Root), again.Usage, j.Decision.Grant().Limits.Output)
	return err
}

// Judge decides req. The caller closes the Judgement.
func (j *Judge) Judge(ctx context.Context, req paddock.Request) *Judgement {
	return j.judge(ctx, req, 0)
}

// Rejudge is Judge for a request whose run is there already, and waits to start.
func (j *Judge) Rejudge(ctx context.Context, req paddock.Request) *Judgement {
	return j.judge(ctx, req, 1)
}

// judge is Judge where own runs of those that are active are the request's.
func (j *Judge) judge(ctx context.Context, req paddock.Request, own int) *Judgement {
	whole, p, err := j.policyFor(req)
	var problem *paddock.Refusal
	if err != nil && !errors.As(err, &problem) {
		out := &Judgement{request: req, Found: &facts.Found{}}
		out.failed(err)
		return out
	}
	path := search.Expected(p, req)
	out := j.look(ctx, p, req, path)
	out.withoutOwn(own)
	out.facts.PolicyProblem = problem
	if t, ok := j.cfg.Policy.(interface{ Trouble() *lineage.Trouble }); ok && problem == nil {
		if out.Trouble = t.Trouble(); out.Trouble != nil {
			out.facts.PolicyNotice = ", as it was before its last change, which doesn't count: " + out.Trouble.Problem.Message
		}
	}
	out.decide(p, req)
	// A script was followed with the PATH that we expected its program to get.
	if got, ok := search.Granted(out.granted()); ok && got != path && out.Fault == nil {
		out.Close()
		notice, trouble := out.facts.PolicyNotice, out.Trouble
		out = j.look(ctx, p, req, got)
		out.withoutOwn(own)
		out.facts.PolicyNotice, out.Trouble = notice, trouble
		out.decide(p, req)
	}
	if out.Fault != nil {
		out.Decision, out.would = paddock.Decision{}, nil
		return out
	}
	out.whole = whole
	out.conclude(ctx, j, slices.Concat(out.trouble, j.exposed(out.granted(), p), out.rewritable(), out.carried()))
	return out
}

// withoutOwn leaves out of the facts what the request's own runs take: they were
// counted, and had their share of quotas, when they were claimed.
func (j *Judgement) withoutOwn(runs int) {
	if runs > 0 {
		j.facts.Active -= runs
		j.facts.Usage = usage.Facts{}
	}
}

// policyFor returns the policy that judges req as long as its directory isn't known,
// or says why there is none.
func (j *Judge) policyFor(req paddock.Request) (whole, p *policy.Policy, err error) {
	if whole, err = j.cfg.Policy.Load(); err == nil {
		err = whole.Judges()
	}
	if err != nil {
		return nil, nil, err
	}
	room := req.Room
	if room == "delegate" && len(req.Command.Argv) > 0 {
		room += "/" + req.Command.Argv[0] // what it may is up to which it is
	}
	if p = whole.For(room); p == nil {
		if req.Room == "delegate" {
			return nil, nil, paddock.Refused(paddock.LaunchDisabled, "The policy doesn't let agents be started.")
		}
		if strings.HasPrefix(req.Room, paddock.SecretRoom) {
			return nil, nil, paddock.Refused(paddock.SecretUnavailable, "The policy has no program any more that says this secret.")
		}
		return nil, nil, paddock.Refused(paddock.GitNotAllowed, "The policy has no `%s` section.", req.Room)
	}
	return whole, p, nil
}

// failed notes err, if it is one that says nothing of the request.
func (j *Judgement) failed(err error) {
	if j.Fault == nil && err != nil {
		j.Fault = fmt.Errorf("%w: the request can't be judged: %w", paddock.ErrFault, err)
	}
}

// starved reports whether err is a fault, and notes it.
func (j *Judgement) starved(err error) bool {
	if !trust.Fault(err) {
		return false
	}
	j.failed(err)
	return true
}

// look finds out what p must know to judge req.
func (j *Judge) look(ctx context.Context, p *policy.Policy, req paddock.Request, path string) *Judgement {
	if p == nil {
		return &Judgement{request: req, Found: &facts.Found{}}
	}
	wanted := p.Wanted(req)
	theirs := p.Applied(req.Principal, "")
	found := j.finder.Find(ctx, facts.Query{
		Wanted: wanted, Roots: theirs.Roots(), Workspace: req.Command.Workspace, Apart: j.cfg.Apart, Dir: req.Command.Dir, Stdin: req.Command.Stdin.File, SearchPath: path,
		PrivateFiles: theirs.Contain().Level == paddock.Full,
	})
	if id := req.Command.Stdin.Run; id != "" && req.Command.Stdin.File == "" {
		var err error
		if found.Stdin, found.StdinFile, err = j.stdinOf(req.Principal, id, req.Command.Stdin.Stream); err != nil && found.Fault == nil {
			found.Fault = err
		}
	}
	out := &Judgement{request: req, state: j.cfg.State, policy: p, Found: found, trouble: speech.Unspeakable(req), facts: policy.Facts{
		Executable: found.Executable, Dir: found.Dir, Paths: found.Paths, Stdin: found.Stdin,
		HostEnv: map[string]string{},
	}}
	out.failed(found.Fault)
	p = p.Applied(req.Principal, found.Dir.Root)
	out.facts.Levels, out.facts.Unavailable = j.cfg.Levels()
	out.facts.Held, out.facts.Unheld = j.held.At(p.Contain().Level, j.cfg.Now())
	var err error
	out.facts.Account, out.facts.Unowned, err = account.Find(p.Contain())
	out.failed(err)
	for _, name := range wanted.HostEnv {
		if value, ok := j.cfg.HostEnv(name); ok {
			out.facts.HostEnv[name] = value
		}
	}
	out.trouble = append(out.trouble, speech.Unfitting(out.facts.HostEnv)...)
	out.entrusted(j, wanted)
	out.budget = budget.Budget{State: j.cfg.State, Disk: j.cfg.Disk}
	var short *paddock.Refusal
	if out.reserved, short = out.budget.Reserve(out.policy); short != nil {
		out.trouble = append(out.trouble, *short)
	}
	if found.Dir.Root != "" && !strings.HasPrefix(req.Room, paddock.SecretRoom) { // what a provider kept would be no secret
		out.home(j.cfg.State, found.Dir.Root)
	}
	err = j.cfg.State.Claim(ctx, func(c *rundir.Claim) (err error) {
		out.facts.Active, out.facts.Usage, err = out.budget.Facts(ctx, c, req.Principal, p.Quotas(req.Principal, found.Dir.Root), j.cfg.Now())
		return err
	})
	if err != nil && !out.starved(err) {
		out.trouble = append(out.trouble, *budget.Unrecordable(err))
	}
	return out
}

// Reserve is how many bytes of the disk the run's output leaves free.
func (j *Judgement) Reserve() int64 { return j.reserved }

// Room is what quotas left for the run's output when it was taken.
func (j *Judgement) Room() budget.Room { return j.room }

// home makes the private home directory for root.
func (j *Judgement) home(state *rundir.State, root string) {
	var err error
	if as := j.facts.Account; as != nil && j.policy.Applied(j.request.Principal, root).Contain().Level != paddock.Full {
		j.facts.Home, err = state.HomeOf(root, *as)
		if refusal := account.Reach(*as, j.facts.Home); refusal != nil && err == nil {
			j.trouble = append(j.trouble, *refusal)
		}
	} else {
		j.facts.Home, err = state.Home(root)
	}
	if err != nil && !j.starved(err) {
		j.trouble = append(j.trouble, *budget.Unrecordable(err))
	}
}

// deny turns d into a refusal for further reasons, if there are any.
func deny(d *paddock.Decision, reasons ...paddock.Refusal) {
	for _, r := range reasons {
		d.Effect, d.Granted = paddock.Deny, paddock.Granted{}
		d.Refusals = append(d.Refusals, r)
		if r.Gate != "" {
			d.Gates = d.Gates.With(paddock.GateResult{Gate: r.Gate, Verdict: paddock.Refuse, Detail: r.Message})
		}
	}
}
