//go:build !linux

package facts

import (
	"context"
	"os"
	"path/filepath"

	"paddock/internal/policy"
)

// This version runs nothing on this system, so what is found here only serves
// to explain: paths are followed by name, and nothing that is opened is used.

func (f *Finder) executable(_ context.Context, q Query) (policy.ExecutableFacts, *Launch) {
	_, err := os.Stat(q.Wanted.Executable)
	return policy.ExecutableFacts{Found: err == nil}, nil
}

// roots are the policy's, by name.
type roots []string

func openRoots(names []string) roots { return names }

func (r roots) close() {}

func (r roots) dir(name string) (policy.DirFacts, *os.File) {
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

func (r roots) path(_ *os.File, dirPath, p string) policy.PathFacts {
	real, root := r.leads(dirPath, p)
	return policy.PathFacts{Real: real, Inside: root != ""}
}

// leads follows p and says in which root, if any, it ends.
func (r roots) leads(base, p string) (real, root string) {
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

func (r roots) stdin(_ *os.File, _, p string) (policy.StdinFacts, *os.File) {
	return policy.StdinFacts{Checked: true, Problem: p + " can't be read on this system"}, nil
}
