package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/internal/policy"
)

// A report is what policy check found.
type report struct {
	File   string         `json:"file"`
	Digest paddock.Digest `json:"digest,omitempty"`
	Valid  bool           `json:"valid"`
	Errors []policy.Error `json:"errors"`
	// Tests is how many commands of the tests section were judged, and Failed
	// those of which the policy says something else than its test.
	Tests  int            `json:"tests"`
	Failed []policy.Error `json:"failed"`
}

func (c *cli) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "List every error of a policy and run its tests",
		Long: `Read a policy, by default the one that applies here, list everything that is wrong
with it by file, line and column, and judge the commands of its tests section. The
exit status is 0 when all is well and 1 when it isn't.`,
		Args: wants(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, data, err := c.policyFile(args)
			if err != nil {
				return err
			}
			return c.checkPolicy(cmd.Context(), path, data)
		},
	}
}

// policyFile reads the file named, or else the one that applies.
func (c *cli) policyFile(args []string) (string, []byte, error) {
	if len(args) == 1 {
		path := c.absolute(args[0])
		data, err := os.ReadFile(path)
		return path, data, err
	}
	found, refusal := c.policyPlaces(c.settings.policy).Find()
	if refusal != nil {
		return "", nil, refusal
	}
	return found.Path, found.Data(), nil
}

func (c *cli) checkPolicy(ctx context.Context, path string, data []byte) error {
	r := report{File: path, Errors: []policy.Error{}, Failed: []policy.Error{}}
	compiled, err := policy.Load(path, data)
	var all *policy.Errors
	switch {
	case errors.As(err, &all):
		r.Errors = all.List
	case err != nil:
		return err
	default:
		r.Digest, r.Tests = compiled.Digest(), len(compiled.Tests())
		if r.Failed, err = c.policyTests(ctx, compiled); err != nil {
			return err
		}
		r.Valid = len(r.Failed) == 0
	}
	if err := c.showReport(r, compiled); err != nil || r.Valid {
		return err
	}
	return exitStatus(exitNo)
}

// policyTests judges the commands of the tests section on this machine, as
// paddock run would, and returns those that were judged otherwise. They are
// judged over a state directory of their own, so that runs that are going on
// don't count.
func (c *cli) policyTests(ctx context.Context, p *policy.Policy) (failed []policy.Error, err error) {
	failed = []policy.Error{}
	if len(p.Tests()) == 0 {
		return failed, nil
	}
	dir, err := os.MkdirTemp("", "paddock-check-")
	if err != nil {
		return failed, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := c.settings
	s.state = dir
	v, err := c.judge(ctx, s, p)
	if err != nil {
		return failed, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	for _, t := range p.Tests() {
		d := v.Explain(ctx, paddock.Request{
			Principal: c.operator(), Door: paddock.DoorCLI,
			Command: paddock.Command{Argv: t.Argv, Dir: t.Dir},
		})
		if problem := t.Problem(d); problem != "" {
			failed = append(failed, policy.Error{Position: t.Position, Message: "test " + quoteAll(t.Argv) + ": " + problem})
		}
	}
	return failed, nil
}

func (c *cli) showReport(r report, compiled *policy.Policy) error {
	if c.settings.json {
		return c.showJSON(r)
	}
	for _, e := range slices.Concat(r.Errors, r.Failed) {
		if _, err := fmt.Fprintf(c.out, "%s: %s\n", place(&e.Position), plain(e.Message)); err != nil {
			return err
		}
	}
	if !r.Valid {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "%s is a valid policy (%s): %s in %s; %d tests hold\n",
		plain(r.File), r.Digest.Short(), quoteAll(compiled.Words()), quoteAll(compiled.Roots()), r.Tests)
	return err
}
