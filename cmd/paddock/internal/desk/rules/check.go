package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/inspect"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/policy"
)

// A report is what policy check found.
type report struct {
	File   string         `json:"file"`
	Digest paddock.Digest `json:"digest,omitempty"`
	// Files are what belongs to it beside: what it extends, and the floor.
	Files  []string       `json:"files,omitempty"`
	Valid  bool           `json:"valid"`
	Errors []policy.Error `json:"errors"`
	// Tests is how many commands of the tests section were judged, and Failed
	// those of which the policy says something else than its test.
	Tests  int            `json:"tests"`
	Failed []policy.Error `json:"failed"`
}

func (d commands) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "List every error of a policy and run its tests",
		Long: `Read a policy, by default the one that applies here, list everything that is wrong
with it by file, line and column, and judge the commands of its tests section. The
exit status is 0 when all is well, 1 when it isn't, and 126 when no FILE is named
and no policy applies here.`,
		Args: desk.Wants(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, data, err := d.policyFile(args)
			if err != nil {
				return err
			}
			return d.checkPolicy(cmd.Context(), path, data)
		},
	}
}

// policyFile reads the file named, or else the one that applies.
func (d commands) policyFile(args []string) (string, []byte, error) {
	if len(args) == 1 {
		path := d.Absolute(args[0])
		data, err := lookup.ReadAny(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = desk.Usage("there is no file "+desk.Plain(path), "paddock policy path says which policy applies here; paddock policy init makes one")
		}
		return path, data, err
	}
	found, err := d.PolicyPlaces(d.Policy).Find()
	if err != nil {
		return "", nil, err
	}
	return found.Path, found.Data(), nil
}

func (d commands) checkPolicy(ctx context.Context, path string, data []byte) error {
	r := report{File: path, Errors: []policy.Error{}, Failed: []policy.Error{}}
	compiled, err := d.load(path, data)
	var all *policy.Errors
	switch {
	case errors.As(err, &all):
		r.Errors = all.List
	case err != nil:
		return err
	case compiled == nil: // a floor, which has no tests
		r.Valid = true
	default:
		r.Files = compiled.Files()[1:]
		r.Digest, r.Tests = compiled.Digest(), len(compiled.Tests())
		if r.Failed, err = d.policyTests(ctx, compiled); err != nil {
			return err
		}
		r.Valid = len(r.Failed) == 0
	}
	if err := d.showReport(r, compiled); err != nil || r.Valid {
		return err
	}
	return desk.ExitStatus(desk.ExitNo)
}

// load compiles a policy with what belongs to it, or checks the floor of the machine
// by itself, of which there is no policy.
func (d commands) load(path string, data []byte) (*policy.Policy, error) {
	if path == d.Lineage.Floor {
		return nil, policy.CheckFloor(path, data)
	}
	return policy.Load(path, data, d.Lineage.More(path, data)...)
}

// policyTests judges the commands of the tests section, and returns those that were
// judged otherwise.
func (d commands) policyTests(ctx context.Context, p *policy.Policy) ([]policy.Error, error) {
	failed := []policy.Error{}
	decisions, err := inspect.Judged(ctx, d.Desk, p, p.Tests())
	for i, verdict := range decisions {
		if t := p.Tests()[i]; t.Problem(verdict) != "" {
			failed = append(failed, inspect.Failed(t, verdict))
		}
	}
	return failed, err
}

func (d commands) showReport(r report, compiled *policy.Policy) error {
	if d.JSON {
		return d.Object(r)
	}
	for _, e := range slices.Concat(r.Errors, r.Failed) {
		if _, err := fmt.Fprintf(d.Out, "%s: %s\n", desk.Place(&e.Position), desk.Plain(e.Message)); err != nil {
			return err
		}
	}
	switch {
	case !r.Valid:
		return nil
	case compiled == nil:
		_, err := fmt.Fprintf(d.Out, "%s is a valid floor: every policy of this machine is held to it\n", desk.Plain(r.File))
		return err
	}
	for _, file := range r.Files {
		d.Say("note", "held to "+desk.Plain(file)+", too")
	}
	_, err := fmt.Fprintf(d.Out, "%s is a valid policy (%s): %s in %s; %s; %d tests hold\n",
		desk.Plain(r.File), r.Digest.Short(), allowed(compiled), desk.QuoteAll(compiled.Roots()), desk.Contained(compiled.Contain()), r.Tests)
	return err
}
