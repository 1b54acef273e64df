// Package told reads the journal for what policies are made better by: commands that
// were refused, and commands that were run.
//
// # Limits
//
// What was only counted, or is cut short, isn't known by its words. Which file a policy was
// in isn't in the journal: that a refusal or a run was another project's is known by the roots
// of the policy that decided, as long as its text is kept and is one file, and of a run by
// where it ran.
package told

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/ruled"
	"paddock/internal/journal"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/review/learn"
)

func open(d *desk.Desk) (*evidence.Evidence, error) {
	state := d.StateDir(d.State)
	if state == "" {
		return nil, desk.Usage("there is no place where a journal could be", "set HOME, or name a directory with --state")
	}
	return evidence.Open(d.Operator(), state, d.Now)
}

// Refused reads the journal for commands that were refused since then, to those whose
// id by accepts, and not by policies for other places than those of data.
func Refused(ctx context.Context, d *desk.Desk, data []byte, since time.Time, by func(id string) bool) (seen []learn.Command, err error) {
	e, err := open(d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	all, cut, others := map[string]int{}, 0, 0
	elsewhere := elsewhere(e, data)
	broken, err := e.List(ctx, evidence.Filter{Kind: journal.Refusal, Since: since}, func(entry journal.Entry, _ []byte) error {
		who, what := "", entry.Refusal
		if entry.Principal != nil {
			who = entry.Principal.ID
		}
		if !by(who) {
			return nil
		}
		if elsewhere(what.PolicyDigest) {
			others++
			return nil
		}
		if what.Count > 0 || journal.WordsOf(what.Argv).Digest != what.Digest {
			cut++
			return nil
		}
		key := strings.Join(what.Argv, "\x00")
		i, known := all[key]
		if !known {
			i = len(seen)
			all[key] = i
			seen = append(seen, learn.Command{Argv: what.Argv})
		}
		seen[i].Codes = append(slices.Clone(what.Others), what.Code) // as it was refused last
		if seen[i].Times++; !slices.Contains(seen[i].By, who) {
			seen[i].By = append(seen[i].By, who)
		}
		return nil
	})
	if others > 0 {
		d.Say("note", fmt.Sprintf("%d refusals by policies for other places are left out", others))
	}
	if cut+broken > 0 {
		d.Say("note", fmt.Sprintf("%d refusals aren't whole in the journal, and are left out", cut+broken))
	}
	return seen, err
}

// elsewhere reports of digests whether such a policy is known to have no root in common
// with data.
func elsewhere(e *evidence.Evidence, data []byte) func(paddock.Digest) bool {
	here := rootsOf(data)
	known := map[paddock.Digest]bool{}
	return func(digest paddock.Digest) bool {
		answer, ok := known[digest]
		if ok || digest == "" {
			return answer
		}
		if text, err := ruled.Read(e, string(digest)); err == nil {
			there := rootsOf([]byte(text.Text))
			answer = len(there) > 0 && !slices.ContainsFunc(there, func(root string) bool {
				return slices.ContainsFunc(here, func(one string) bool { return holds(root, one) || holds(one, root) })
			})
		}
		known[digest] = answer
		return answer
	}
}

// rootsOf are the roots of a policy of one file, with links followed as far as they are
// there: a place has many names. There are none where it can't be read.
func rootsOf(data []byte) (roots []string) {
	file, faults := layered.Load("", data)
	if len(faults) > 0 {
		return nil
	}
	for _, root := range file.Roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		roots = append(roots, root)
	}
	return roots
}

// outside reports whether dir, where something ran, is whole and in none of roots: then no
// policy with these roots was needed for that, whose texts are kept or not.
func outside(roots []string, dir string) bool {
	return filepath.IsAbs(dir) && !strings.HasSuffix(dir, "…") &&
		!slices.ContainsFunc(roots, func(root string) bool { return holds(root, dir) })
}

// holds reports whether p is dir or in it.
func holds(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Started reads the journal for commands that were run since then, by those whose id
// by accepts, and not by policies for other places than those of data: each command once,
// and how many runs there were.
func Started(ctx context.Context, d *desk.Desk, data []byte, since time.Time, by func(id string) bool) (used []learn.Use, runs int, err error) {
	e, err := open(d)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	known, others := map[string]bool{}, 0
	elsewhere, here := elsewhere(e, data), rootsOf(data)
	broken, err := e.List(ctx, evidence.Filter{Kind: journal.Start, Since: since}, func(entry journal.Entry, _ []byte) error {
		if entry.Principal == nil || !by(entry.Principal.ID) {
			return nil
		}
		if elsewhere(entry.Start.PolicyDigest) || outside(here, entry.Start.Dir) {
			others++
			return nil
		}
		runs++
		use := learn.Use{Argv: entry.Start.Argv, Program: entry.Start.Executable}
		if journal.WordsOf(use.Argv).Digest != entry.Start.Digest {
			use.Argv = nil
		}
		if key := fmt.Sprintf("%q %q", use.Program, use.Argv); !known[key] {
			known[key] = true
			used = append(used, use)
		}
		return nil
	})
	if others > 0 {
		d.Say("note", fmt.Sprintf("%d runs by policies for other places are left out", others))
	}
	if err == nil && broken > 0 {
		err = desk.Usage(fmt.Sprintf("%d entries of the journal can't be read, so what was used isn't known", broken), "paddock audit verify says more")
	}
	return used, runs, err
}
