package judge

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"paddock"
	"paddock/internal/executor/judge/inside"
	"paddock/internal/executor/judge/search"
	"paddock/internal/executor/judge/secrets"
	"paddock/internal/policy"
)

// A placed Source is a file.
type placed interface{ Place() string }

// exposed refuses a grant that would show a contained run what it must not see:
// the state directory, a secret of the policy p, or, where it could be written,
// the policy. No mount and no rule can take away what lies inside of what was
// granted.
func (j *Judge) exposed(g *paddock.Grant, p *policy.Policy) []paddock.Refusal {
	if g == nil || g.Contain.Level == paddock.Off {
		return nil
	}
	writable := append([]string{g.Root}, g.Contain.Write...)
	var refusals []paddock.Refusal
	var look inside.Look
	refuse := func(what, path, in string) {
		r := paddock.Refused(paddock.ContainmentUnavailable, "%s, %s, lies inside %s, which the run is given.", what, path, in)
		r.Hint = "Keep it outside of every root and of what `containment` lists, or narrow those."
		refusals = append(refusals, *r)
	}
	state := j.cfg.State.Path()
	for _, path := range append(writable, g.Contain.Read...) {
		if look.Holds(path, state) {
			refuse("The state directory", state, path)
			break
		}
	}
	files := secrets.Files(p.Given(), p.Secrets())
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		for _, path := range append(writable, g.Contain.Read...) {
			if look.Holds(path, file) {
				refuse("The secret "+name, file, path)
				break
			}
		}
	}
	policies := p.Files()[1:]
	if file, ok := j.cfg.Policy.(placed); ok && file.Place() != "" {
		policies = append(policies, file.Place())
	}
	for _, file := range policies {
		for _, path := range writable {
			// A project's own policy is protected there, and trusted by its digest.
			if look.Holds(path, file) && !look.Holds(filepath.Join(path, ".paddock"), file) {
				refuse("The policy", file, path)
				break
			}
		}
	}
	return refusals
}

// Workspace returns where the root is, links followed, if that still holds the
// directory that was judged.
func Workspace(grant *paddock.Grant) (string, error) {
	root, err := filepath.EvalSymlinks(grant.Root)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, grant.Dir); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads elsewhere than it did when it was judged", grant.Root)
	}
	return root, nil
}

// Programs lists the files that are executed, or read to execute others, the
// binary first. The decision must allow.
func (j *Judgement) Programs() []string { return j.programs(j.Decision.Grant()) }

func (j *Judgement) programs(g *paddock.Grant) []string {
	e := g.Executable
	programs := []string{j.Found.Launch.Path, e.Path}
	for _, i := range e.Interpreters {
		programs = append(programs, i.Path)
	}
	return programs
}

// Listed lists what the run's whole tree may execute beside its own program; nil
// where that is anything. The decision must allow.
func (j *Judge) Listed(ctx context.Context, g *paddock.Grant) ([]string, error) {
	from, _ := search.Granted(g)
	var listed []string
	for _, path := range g.Contain.Executes {
		found, err := j.finder.Executes(ctx, path, from)
		if err != nil {
			return nil, err
		}
		listed = append(listed, found...)
	}
	return listed, nil
}

// Copies lists the paths of what the run sees copies of. The decision must allow.
func (j *Judgement) Copies() []string {
	var paths []string
	for _, c := range j.Found.Launch.Copies {
		paths = append(paths, c.Path)
	}
	return paths
}

// rewritable refuses pinned scripts that runs could change: an interpreter opens
// a script by its name, and a name in a directory that runs may write stands for
// whatever one of them puts there. A copy can't stand there either, nor in what
// the run is shown otherwise.
func (j *Judgement) rewritable() []paddock.Refusal {
	grant, launch := j.granted(), j.Found.Launch
	if grant == nil || launch == nil {
		return nil
	}
	var refusals []paddock.Refusal
	refuse := func(script string, dirs []string, why string) {
		for _, dir := range dirs {
			if dir != "" && inside.Holds(dir, script) {
				r := paddock.Refused(paddock.ExecutableUnsafe, "%s is a pinned script and lies inside %s, %s.", script, dir, why)
				r.Gate = paddock.GatePin
				r.Hint = "Keep it outside of every root and of what `containment` lists."
				refusals = append(refusals, *r)
				return
			}
		}
	}
	for _, script := range launch.Scripts {
		refuse(script, slices.Concat([]string{grant.Root, j.Home()}, grant.Contain.Write), "where runs can put another in its place")
	}
	for _, c := range launch.Copies {
		refuse(c.Path, grant.Contain.Read, "where no copy of it can be shown")
	}
	return refusals
}
