//go:build !linux

package roots

import (
	"os"
	"path/filepath"
	"slices"

	"paddock/internal/policy"
)

// Roots are the policy's, by name.
type Roots []string

// Open takes the names.
func Open(names []string) Roots { return names }

// Fault returns nil: what is looked at here only serves to explain.
func (r Roots) Fault() error { return nil }

// Confine puts a directory inside one of the roots in the place of all of them.
func (r *Roots) Confine(workspace string) {
	real, root := r.leads("/", workspace)
	if *r = nil; root != "" && real == workspace {
		*r = Roots{workspace}
	}
}

// Leave leaves out the roots that have one of some directories in them or around them.
func (r *Roots) Leave(apart []string) {
	var kept Roots
	for _, root := range *r {
		if !slices.ContainsFunc(apart, func(dir string) bool { return within(root, dir) || within(dir, root) }) {
			kept = append(kept, root)
		}
	}
	*r = kept
}

// within reports whether p is dir or in it.
func within(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// Real isn't known.
func (r Roots) Real(string) string { return "" }

// Close has nothing to close.
func (r Roots) Close() {}

// Dir says where name leads.
func (r Roots) Dir(name string) (policy.DirFacts, *os.File) {
	if len(r) == 0 {
		return policy.DirFacts{}, nil
	}
	real, root := r.leads(r[0], name)
	if root == "" {
		return policy.DirFacts{Found: real != "", Real: real}, nil
	}
	file, err := os.Open(real)
	return policy.DirFacts{Found: err == nil, Real: real, Root: root}, file
}

// Path says where the argument p leads.
func (r Roots) Path(_ *os.File, dirPath, p string) policy.PathFacts {
	real, root := r.leads(dirPath, p)
	return policy.PathFacts{Real: real, Inside: root != ""}
}

// leads follows p and says in which root, if any, it ends.
func (r Roots) leads(base, p string) (real, root string) {
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", ""
	}
	for _, root := range r {
		at, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(at, real); err == nil && filepath.IsLocal(rel) {
			return real, root
		}
	}
	return real, ""
}

// Stdin can't be given here.
func (r Roots) Stdin(_ *os.File, _, p string) (policy.StdinFacts, *os.File) {
	return policy.StdinFacts{Checked: true, Problem: p + " can't be read on this system"}, nil
}
