// Package lookup finds the policy that applies and says why it is that one.
//
// A policy is an operator's input: it comes from a flag, the environment, the
// operator's own configuration directory or the system's. A paddock.yaml inside
// a workspace is only a proposal, since whoever can write there could allow
// itself anything; it counts once its exact content was trusted.
//
// # Limits
//
// The package reads files and compares digests; it doesn't judge requests. It
// looks from one directory, the caller's, and never from where a request points.
package lookup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"paddock"
	"paddock/internal/lineage"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// WorkspaceFile is the name of a workspace's own proposal.
const WorkspaceFile = "paddock.yaml"

// mostBytes bounds a policy file; the largest sensible one is far smaller.
const mostBytes = 4 << 20

// Places are where to look, in this order. Empty ones are skipped.
type Places struct {
	Flag        string // --policy
	Environment string // PADDOCK_POLICY
	Config      string // the user's configuration directory for Paddock
	Dir         string // where the caller is, absolute; empty is nowhere
	System      string // the policy of the whole machine
	// Lineage reads what belongs to a policy beside its own file.
	Lineage lineage.Reader
}

// A Kind says by which way a policy was found.
type Kind string

// The ways, in their order.
const (
	ByFlag        Kind = "flag"
	ByEnvironment Kind = "environment"
	ByProject     Kind = "project"
	ByTrust       Kind = "trusted-workspace"
	BySystem      Kind = "system"
)

// A Found is the policy file that applies.
type Found struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// Why says in one line how it was found.
	Why string `json:"why"`
	// Project is the directory that the file was made for; empty if it is for any.
	Project string `json:"project,omitempty"`
	data    []byte
}

// Data returns the content of the file, as it was when it was found.
func (f Found) Data() []byte { return f.data }

// Find returns the policy file that applies, or the [*paddock.Refusal] that says why
// none does and what to do. Any other error is our own fault.
func (p Places) Find() (Found, error) {
	if p.Flag != "" {
		return read(p.absolute(p.Flag), ByFlag, "named by --policy")
	}
	if p.Environment != "" {
		return read(p.absolute(p.Environment), ByEnvironment, "named by PADDOCK_POLICY")
	}
	project, found, err := p.project()
	if found || err != nil {
		return project, err
	}
	proposal, found, err := p.workspace()
	if found || err != nil {
		return proposal.Found, err
	}
	if p.System != "" && exists(p.System) {
		return read(p.System, BySystem, "the policy of this machine")
	}
	return Found{}, p.nothing(proposal)
}

// compile makes a policy of the file found.
func (p Places) compile(found Found, more []policy.Source) (*policy.Policy, error) {
	compiled, err := policy.Load(found.Path, found.data, more...)
	if err != nil {
		return nil, invalid(found.Path, err)
	}
	for i, file := range compiled.Files() {
		if i == 0 && (found.Kind == ByTrust || p.trusted(found)) {
			continue // what may be written there is bound by the digest
		}
		for _, root := range compiled.Roots() {
			if !Within(RealPath(file), RealPath(root)) {
				continue
			}
			refusal := paddock.Refused(paddock.PolicyInvalid, "The policy %s lies inside its own root %s, where the commands that it allows could change it.", file, root)
			if i > 0 {
				refusal.Hint = "Move it to a place outside every root; the policy " + word(found.Path) + " extends it."
				return nil, refusal
			}
			refusal.Hint = "Move it to a place outside every root, such as " + filepath.Join(p.Config, "projects") + ", or accept this exact content with `paddock policy trust " + word(found.Path) + "` under the name " + WorkspaceFile + "."
			return nil, refusal
		}
	}
	return compiled, nil
}

// project looks for the policy of the nearest directory, from where the caller
// is upwards, that has one in the user's configuration directory.
func (p Places) project() (Found, bool, error) {
	if p.Config == "" || p.Dir == "" {
		return Found{}, false, nil
	}
	for dir := range upwards(RealPath(p.Dir)) {
		file := p.ProjectFile(dir)
		if !exists(file) {
			continue
		}
		found, err := read(file, ByProject, "made for "+dir)
		found.Project = dir
		return found, true, err
	}
	return Found{}, false, nil
}

// ProjectFile is where the policy of the project in the real directory dir is
// kept: a name that a person recognises, and a digest that tells two alike apart.
func (p Places) ProjectFile(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, filepath.Base(dir))
	if len(name) > 64 {
		name = name[:64]
	}
	return filepath.Join(p.Config, "projects", strings.TrimLeft(name, ".")+"-"+nameOf(dir)+".yaml")
}

// nameOf is a short digest of a path.
func nameOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return paddock.DigestOf(sum).Hex()[:16]
}

// nothing is the refusal that shows every way to a policy.
func (p Places) nothing(proposal proposal) *paddock.Refusal {
	if p.Dir == "" {
		r := paddock.Refused(paddock.NoPolicy, "The working directory is gone and no policy is named, so nothing may run.")
		r.Hint = "Change to a directory that exists, or name a policy with --policy."
		return r
	}
	dir := top(p.Dir)
	r := paddock.Refused(paddock.NoPolicy, "No policy applies in %s, so nothing may run.", p.Dir)
	r.Hint = "An operator runs `paddock policy init` in " + word(dir) + ", which proposes one."
	if proposal.Path == "" {
		return r
	}
	r.Message += fmt.Sprintf(" %s is there, but a workspace's own file counts only after it was trusted.", proposal.Path)
	if proposal.changed {
		r.Message = fmt.Sprintf("No policy applies in %s, so nothing may run. %s was trusted on %s and has changed since.", p.Dir, proposal.Path, proposal.since)
	}
	r.Hint = "An operator reads it and runs `paddock policy trust " + word(proposal.Path) + "`, or runs `paddock policy init` in " + word(dir) + ", which makes one outside the workspace."
	return r
}

// read opens a policy that nobody else may be able to change.
func read(path string, kind Kind, why string) (Found, error) {
	found := Found{Path: path, Kind: kind, Why: why}
	file, _, err := trust.User().Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		refusal := paddock.Refused(paddock.NoPolicy, "The policy %s, %s, doesn't exist, so nothing may run.", path, why)
		refusal.Hint = "Correct the name, or make a policy with `paddock policy init`."
		return found, refusal
	case trust.Fault(err):
		return found, fmt.Errorf("the policy %s: %w", path, err)
	case err != nil:
		refusal := paddock.Refused(paddock.PolicyInvalid, "The policy %s can't be trusted: %v.", path, err)
		refusal.Hint = "A policy and every directory above it must belong to root or to you and be writable by nobody else: `chmod go-w`, or move it."
		return found, refusal
	}
	defer file.Close()
	data, err := bounded(file)
	if err != nil {
		return found, invalid(path, err)
	}
	found.data = data
	return found, nil
}

func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err == nil && len(data) > mostBytes {
		err = fmt.Errorf("larger than %d MiB", mostBytes>>20)
	}
	return data, err
}

// invalid says why what is at path can't be a policy, unless the fault is ours.
func invalid(path string, err error) error {
	if trust.Fault(err) {
		return fmt.Errorf("the policy %s: %w", path, err)
	}
	r := paddock.Refused(paddock.PolicyInvalid, "The policy %s can't be used: %v.", path, err)
	r.Hint = "`paddock policy check " + word(path) + "` lists every error with its place."
	var all *policy.Errors
	if errors.As(err, &all) && len(all.List) > 0 {
		first := all.List[0]
		r.Message = fmt.Sprintf("The policy %s has %d errors, the first at %d:%d: %s", path, len(all.List), first.Position.Line, first.Position.Column, first.Message)
		if len(all.List) == 1 {
			r.Message = fmt.Sprintf("The policy %s has an error at %d:%d: %s", path, first.Position.Line, first.Position.Column, first.Message)
		}
		r.Position = &first.Position
	}
	return r
}

func (p Places) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}
