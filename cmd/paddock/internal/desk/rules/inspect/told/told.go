// Package told reads the journal for what policies are made better by: commands that
// were refused, and commands that were run.
//
// # Limits
//
// What was only counted, or is cut short, isn't known by its words.
package told

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/journal"
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
// id by accepts.
func Refused(ctx context.Context, d *desk.Desk, since time.Time, by func(id string) bool) (seen []learn.Command, err error) {
	e, err := open(d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	all, cut := map[string]int{}, 0
	broken, err := e.List(ctx, evidence.Filter{Kind: journal.Refusal, Since: since}, func(entry journal.Entry, _ []byte) error {
		who, what := "", entry.Refusal
		if entry.Principal != nil {
			who = entry.Principal.ID
		}
		if !by(who) {
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
	if cut+broken > 0 {
		d.Say("note", fmt.Sprintf("%d refusals aren't whole in the journal, and are left out", cut+broken))
	}
	return seen, err
}

// Started reads the journal for commands that were run since then, by those whose id
// by accepts, each once, and counts the runs.
func Started(ctx context.Context, d *desk.Desk, since time.Time, by func(id string) bool) (used []learn.Use, runs int, err error) {
	e, err := open(d)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	known := map[string]bool{}
	broken, err := e.List(ctx, evidence.Filter{Kind: journal.Start, Since: since}, func(entry journal.Entry, _ []byte) error {
		if entry.Principal == nil || !by(entry.Principal.ID) {
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
	if err == nil && broken > 0 {
		err = desk.Usage(fmt.Sprintf("%d entries of the journal can't be read, so what was used isn't known", broken), "paddock audit verify says more")
	}
	return used, runs, err
}
