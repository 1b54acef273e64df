package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/review/cover"
)

// A testReport is what policy test found.
type testReport struct {
	File   string         `json:"file"`
	Digest paddock.Digest `json:"digest"`
	// Passed is set when every test holds and, where that was asked for, every part
	// of the policy was reached.
	Passed   bool            `json:"passed"`
	Tests    int             `json:"tests"`
	Failed   []policy.Error  `json:"failed"`
	Coverage *cover.Coverage `json:"coverage"`
}

func (d commands) testCommand() *cobra.Command {
	var covered bool
	cmd := &cobra.Command{
		Use:   "test [flags] [FILE…]",
		Short: "Run the tests of a policy and say what they don't reach",
		Long: `Judge the commands of a policy's tests section on this machine, as paddock run would,
and those of further files that hold nothing but tests:

  version: 1
  tests:
    - allow: [go, test, ./...]
    - refuse: [go, run, .]

A FILE is such a file, or the policy to be tested; without one it is the policy that
applies here. Executables, argument rules and rules that no test reached are listed.
The exit status is 0 when all tests hold, 1 when one doesn't or, with --covered, when
something wasn't reached, 125 when a file has errors, and 126 when no policy applies.`,
		Example: "  paddock policy test\n  paddock policy test --covered policy.yaml more-tests.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.test(cmd.Context(), args, covered)
		},
	}
	cmd.Flags().BoolVar(&covered, "covered", false, "fail when a part of the policy was never reached")
	return cmd
}

// suite is a policy and the tests that it is to pass.
type suite struct {
	path  string
	data  []byte
	tests []policy.Test
}

// gather sorts files into one policy and files of tests.
func (d commands) gather(args []string) (suite, error) {
	var s suite
	for _, arg := range args {
		path, data, err := d.files.Policy([]string{arg})
		if err != nil {
			return s, err
		}
		file, _ := document.Read(path, data)
		_, roots := file.Sections["roots"]
		_, executables := file.Sections["executables"]
		executables = executables || file.Extends.Given()
		switch {
		case (roots || executables) && s.path != "":
			return s, desk.Usage(desk.Plain(s.path)+" and "+desk.Plain(path)+" are both policies", "test one at a time")
		case roots || executables:
			s.path, s.data = path, data
			continue
		}
		tests, faults := document.ReadTests(path, data)
		if len(faults) > 0 {
			f := faults[0]
			return s, desk.Usage(desk.Place(&f.At)+": "+desk.Plain(f.Message), "nothing was tested; a file of tests has `version: 1` and `tests`")
		}
		for _, t := range tests {
			s.tests = append(s.tests, policy.Test{Position: t.At, Argv: t.Argv, Dir: t.Dir, Refuse: t.Refuse, Code: t.Code})
		}
	}
	var err error
	if s.path == "" {
		s.path, s.data, err = d.files.Policy(nil)
	}
	return s, err
}

func (d commands) test(ctx context.Context, args []string, covered bool) error {
	s, err := d.gather(args)
	if err != nil {
		return err
	}
	more := d.Lineage.More(s.path, s.data)
	p, err := policy.Load(s.path, s.data, more...)
	if err != nil {
		return broken(s.path, err, "nothing was tested")
	}
	tests := append(p.Tests(), s.tests...)
	r := testReport{File: s.path, Digest: p.Digest(), Tests: len(tests), Failed: []policy.Error{}}
	if r.Coverage, err = cover.New(s.path, s.data, more...); err != nil {
		return err
	}
	decisions, err := Judged(ctx, d.Desk, p, tests)
	if err != nil {
		return err
	}
	for i, verdict := range decisions {
		r.Coverage.Add(tests[i].Argv, verdict)
		if tests[i].Problem(verdict) != "" {
			r.Failed = append(r.Failed, Failed(tests[i], verdict))
		}
	}
	r.Passed = len(r.Failed) == 0 && (!covered || len(r.Coverage.Missed()) == 0)
	if err := d.showTests(r); err != nil || r.Passed {
		return err
	}
	return desk.ExitStatus(desk.ExitNo)
}

// Judged judges commands of tests under p on this machine, as paddock run would. They
// are judged over a state directory of their own, so that runs that are going on don't
// count.
func Judged(ctx context.Context, d *desk.Desk, p *policy.Policy, tests []policy.Test) (decisions []paddock.Decision, err error) {
	if len(tests) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "paddock-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	v, err := d.Judge(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	for _, t := range tests {
		decision, err := v.Explain(ctx, paddock.Request{
			Principal: d.Operator(), Door: paddock.DoorCLI, Command: paddock.Command{Argv: t.Argv, Dir: t.Dir},
		})
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, decision)
	}
	return decisions, nil
}

// Failed says how a decision differs from what a test demands.
func Failed(t policy.Test, verdict paddock.Decision) policy.Error {
	return policy.Error{Position: t.Position, Message: "test " + desk.QuoteAll(t.Argv) + ": " + t.Problem(verdict)}
}

func (d commands) showTests(r testReport) error {
	if d.JSON {
		return d.Object(r)
	}
	for _, e := range r.Failed {
		if _, err := fmt.Fprintf(d.Out, "%s: %s\n", desk.Place(&e.Position), desk.Plain(e.Message)); err != nil {
			return err
		}
	}
	for _, p := range r.Coverage.Missed() {
		if _, err := fmt.Fprintf(d.Out, "%s: no test reaches %s: %s\n", desk.Place(&p.Position), desk.Plain(p.At), desk.Plain(p.Says)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(d.Out, "%d of %d tests hold; they reach %d of %d parts of %s\n",
		r.Tests-len(r.Failed), r.Tests, r.Coverage.Covered, len(r.Coverage.Parts), desk.Plain(r.File))
	return err
}
