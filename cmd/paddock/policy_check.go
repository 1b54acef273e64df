package main

import (
	"errors"
	"fmt"
	"os"

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
}

func (c *cli) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "List every error of a policy and run its tests",
		Long: `Read a policy, by default the one that applies here, list everything that is wrong
with it by file, line and column, and judge the commands of its tests section. The
exit status is 0 when all is well and 1 when it isn't.`,
		Args: wants(0, 1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, data, err := c.policyFile(args)
			if err != nil {
				return err
			}
			return c.checkPolicy(path, data)
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

func (c *cli) checkPolicy(path string, data []byte) error {
	r := report{File: path, Errors: []policy.Error{}}
	compiled, err := policy.Load(path, data)
	var all *policy.Errors
	switch {
	case errors.As(err, &all):
		r.Errors = all.List
	case err != nil:
		return err
	default:
		r.Valid, r.Digest = true, compiled.Digest()
	}
	if err := c.showReport(r, compiled); err != nil || r.Valid {
		return err
	}
	return exitStatus(exitNo)
}

func (c *cli) showReport(r report, compiled *policy.Policy) error {
	if c.settings.json {
		return c.showJSON(r)
	}
	for _, e := range r.Errors {
		if _, err := fmt.Fprintf(c.out, "%s: %s\n", place(&e.Position), plain(e.Message)); err != nil {
			return err
		}
	}
	if !r.Valid {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "%s is a valid policy (%s): %s in %s\n", plain(r.File), r.Digest.Short(), quoteAll(compiled.Words()), quoteAll(compiled.Roots()))
	return err
}
