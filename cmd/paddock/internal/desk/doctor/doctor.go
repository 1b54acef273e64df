// Package doctor has the command that finds out what holds programs on this
// machine: it attempts escapes, at each level, from inside a run like any other,
// and compares what came of them with what the level promises.
//
// # Limits
//
// What is attempted, and what is promised, is package probe's to say. Attempts
// go to targets that are made for them and taken away again; nothing that was
// there before is touched. What holds today isn't proof that it always does.
package doctor

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis/pins"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis/scene"
	"paddock/internal/executor/stages"
	"paddock/internal/git"
	"paddock/internal/policy"
	"paddock/internal/task/delegate"
)

// Command returns the command doctor.
func Command(at *desk.Desk) *cobra.Command {
	d := commands{at, stage}
	only := ""
	cmd := &cobra.Command{
		Use:   "doctor [--level full|standard|off]",
		Short: "Attempt escapes and say what each level holds here",
		Long: `Start a program that attempts escapes, at each level of containment that this
machine has, and say of each attempt what the level promises and what came of it.
The attempts go to files, sockets and processes of doctor's own and change nothing.
Then it says what of this machine matters for containment, and what to do about it.

The exit status is 0 when every promise of the levels that are available holds and
the level that your policy requires is one of them, and 1 otherwise; also when a
level named by --level isn't available.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.examine(cmd.Context(), only) },
	}
	cmd.Flags().StringVar(&only, "level", "", "attempt at `LEVEL` only: full, standard or off")
	return cmd
}

// commands are the commands at a desk.
type commands struct {
	*desk.Desk
	// stage returns where the program that attempts can be executed; it may be
	// unpacked below dir.
	stage func(ctx context.Context, dir string) (string, error)
}

func (d commands) examine(ctx context.Context, only string) error {
	levels := []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
	if only != "" {
		switch paddock.Level(only) {
		case paddock.Full, paddock.Standard, paddock.Off:
			levels = []paddock.Level{paddock.Level(only)}
		default:
			return desk.Usage("there is no level "+desk.Quote(only), "the levels are full, standard and off")
		}
	}
	var available []paddock.Level
	var missing map[paddock.Level]string
	if d.Levels != nil {
		available, missing = d.Levels()
	}
	r := Report{Machine: append(diagnosis.Facts(d.StateDir(d.State)), pins.Attempt(ctx, scene.Base(d.StateDir(d.State), paddock.Full)))}
	var err error
	if r.Policy, err = d.policyReport(ctx, available); err != nil {
		return err
	}
	for _, level := range levels {
		report, err := d.exam(ctx, level, available, missing)
		if err != nil {
			return err
		}
		r.Levels = append(r.Levels, report)
	}
	r.judge(only != "")
	if err := d.show(r); err != nil || r.OK {
		return err
	}
	return desk.ExitStatus(desk.ExitNo)
}

// policyReport says whether the level of the policy that applies here is there.
func (d commands) policyReport(ctx context.Context, available []paddock.Level) (PolicyReport, error) {
	found, err := d.PolicyPlaces(d.Policy).Find()
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		r := PolicyReport{Path: found.Path, Problem: refusal.Message, Remedy: refusal.Hint}
		r.none = refusal.Code == paddock.NoPolicy && d.Policy == "" && d.Getenv("PADDOCK_POLICY") == ""
		return r, nil
	}
	if err != nil {
		return PolicyReport{Path: found.Path, Problem: err.Error(), Remedy: "Try again: this says nothing of the policy."}, nil //nolint:nilerr // the report says it
	}
	return d.policyOf(ctx, found.Path, found.Data(), available, d.Lineage.More(found.Path, found.Data())...)
}

// brokenPolicy is what to do about one that can't be used.
const brokenPolicy = "`paddock policy check` lists every error with its place. Until they are gone, whatever read the policy before it was changed, such as a server for agents, goes by the previous one; everything else is refused."

func (d commands) policyOf(ctx context.Context, path string, data []byte, available []paddock.Level, more ...policy.Source) (PolicyReport, error) {
	r := PolicyReport{Path: path}
	for _, s := range more {
		r.HeldTo = append(r.HeldTo, s.Name)
	}
	compiled, err := policy.Load(path, data, more...)
	if err != nil {
		r.Problem, r.Remedy = err.Error(), brokenPolicy
		return r, nil //nolint:nilerr // the report says it
	}
	r.Level = compiled.Contain().Level
	for _, level := range available {
		r.Available = r.Available || level == r.Level
	}
	if !r.Available {
		r.Problem = "it requires " + string(r.Level) + ", which this machine doesn't have"
		r.Remedy = "See above what is missing; or let the policy require a level that is there, if what that holds is enough."
	}
	r.Names, err = d.named(ctx, compiled, r.Available)
	return r, err
}

// stage finds the supervisor's binary at a path where it can be executed,
// unpacking the one inside this program below dir.
func stage(ctx context.Context, dir string) (string, error) {
	binary, err := stages.Find("")
	if err != nil {
		return "", err
	}
	return binary.Place(ctx, dir)
}

// named says of what the policy names whether it can be used here: what is pinned,
// and git. A remedy is there where runs of it would be refused.
func (d commands) named(ctx context.Context, p *policy.Policy, available bool) ([]diagnosis.Fact, error) {
	tools := p.For(git.Name)
	all, err := pins.Look(ctx, p, tools, p.For(delegate.Name))
	if err != nil || tools == nil || !available {
		return all, err
	}
	fact, err := d.git(ctx, tools.Executables()[0], p.Contain())
	return append(all, fact), err
}

// exam runs the attempts at one level. An error is ours; what the level doesn't
// give is in the report.
func (d commands) exam(ctx context.Context, level paddock.Level, available []paddock.Level, missing map[paddock.Level]string) (report LevelReport, err error) {
	report = LevelReport{Level: level, Checks: []CheckReport{}}
	for _, l := range available {
		report.Available = report.Available || l == level
	}
	if !report.Available {
		if report.Problem = missing[level]; report.Problem == "" {
			report.Problem = "this version has no containment for this system"
		}
		return report, nil
	}
	s, err := scene.Build(ctx, scene.Base(d.StateDir(d.State), level), level)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return report, d.attempt(ctx, s, &report)
}
