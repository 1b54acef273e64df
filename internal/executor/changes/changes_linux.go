package changes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"paddock"
	"paddock/internal/contain/protect"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/workspace"
	"paddock/internal/workspace/apply"
	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/change"
	"paddock/internal/workspace/patch"
)

// open opens what was kept and finds out what of it is chosen.
func (d Desk) open(choice Choice) (*workspace.Kept, workspace.Changes, error) {
	none := workspace.Changes{}
	names, err := choice.clean()
	if err != nil {
		return nil, none, err
	}
	if err := settled(d.Run); err != nil {
		return nil, none, err
	}
	kept, err := workspace.Open(d.Path())
	if err != nil {
		return nil, none, explained(d.Run, err)
	}
	all, err := kept.Changes()
	if err != nil {
		return nil, none, errors.Join(explained(d.Run, err), kept.Close())
	}
	if len(names) == 0 {
		return kept, all, nil
	}
	chosen, missing := change.Select(all.All, names)
	_, missing = change.Select(all.There, missing)
	if len(missing) > 0 {
		r := paddock.Refused(paddock.InvalidRequest, "The run changed nothing at %q.", missing[0])
		r.Hint = "`paddock diff RUN --name-only` lists what it changed; paths are relative to the root."
		return nil, none, errors.Join(r, kept.Close())
	}
	all.Unreadable = slices.DeleteFunc(all.Unreadable, func(dir string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return change.Below(n, dir) })
	})
	all.All = chosen
	return kept, all, nil
}

// Diff returns what the run changed.
func (d Desk) Diff(choice Choice) (paddock.Changes, error) {
	kept, found, err := d.open(choice)
	if err != nil {
		return paddock.Changes{}, err
	}
	defer kept.Close()
	out := paddock.Changes{Run: d.Run.ID, Root: kept.Root, Files: []paddock.FileChange{}}
	if d.Run.Enforced != nil {
		out.Kind = d.Run.Enforced.Workspace
	}
	for _, dir := range found.Unreadable {
		out.Unreadable = append(out.Unreadable, shown(dir))
	}
	room := mostHunks
	for i, c := range found.All {
		if i == mostShown {
			out.Left = len(found.All) - i
			break
		}
		f := describe(c)
		if choice.Hunks {
			hunks(&f, c, kept, &room)
		}
		out.Files = append(out.Files, f)
	}
	return out, nil
}

func describe(c change.Change) paddock.FileChange {
	f := paddock.FileChange{Path: shown(c.Path()), Change: "modified"}
	switch {
	case c.Before == nil:
		f.Change = "added"
	case c.After == nil:
		f.Change = "deleted"
	}
	if b := c.Before; b != nil {
		f.Old, f.OldMode, f.OldTarget = kind(*b), mode(*b), shown(b.Target)
		if b.Regular() {
			f.OldSize = b.Size
		}
	}
	if a := c.After; a != nil {
		f.New, f.NewMode, f.NewTarget = kind(*a), mode(*a), shown(a.Target)
		if a.Regular() {
			f.NewSize = a.Size
		}
	}
	return f
}

// shown is a name as JSON can hold it.
func shown(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	q := strconv.QuoteToASCII(name)
	return q[1 : len(q)-1]
}

func kind(e change.Entry) string {
	switch {
	case e.Regular():
		return "file"
	case e.Directory():
		return "directory"
	case e.Link():
		return "link"
	}
	return "special"
}

func mode(e change.Entry) string { return fmt.Sprintf("%04o", e.Perm()) }

// hunks adds the difference of two texts, as far as there is room.
func hunks(f *paddock.FileChange, c change.Change, kept *workspace.Kept, room *int) {
	if f.Old == "special" || f.New == "special" || f.Old != "file" && f.New != "file" {
		return
	}
	old, err := content(c.Before, kept.Base, true)
	var now []byte
	if err == nil {
		now, err = content(c.After, kept.From, false)
	}
	switch {
	case errors.Is(err, errMeanwhile):
		f.Unshown = "the workspace changed here since the run began"
	case errors.Is(err, errLong):
		f.Unshown = "too long to show"
	case err != nil:
		f.Unshown = err.Error()
	case *room <= 0:
		f.Unshown = "left out: enough was shown; name the path to see it"
	default:
		f.Hunks = patch.Hunks(old, now)
		*room -= len(f.Hunks)
		if f.Hunks == "" && string(old) != string(now) {
			f.Unshown = "not text"
		}
	}
	for line := range strings.Lines(f.Hunks) {
		switch line[0] {
		case '+':
			f.Added++
		case '-':
			f.Removed++
		}
	}
}

var (
	errMeanwhile = errors.New("changed meanwhile")
	errLong      = errors.New("too long")
)

// content reads a file that was seen as e, nothing if it isn't one. With still
// it must be as it was.
func content(e *change.Entry, in *tree.Root, still bool) ([]byte, error) {
	if e == nil || !e.Regular() {
		return nil, nil
	}
	if still {
		if now, err := in.Stat(e.Path); err != nil || !now.Untouched(*e) {
			return nil, errMeanwhile
		}
	}
	if e.Size > patch.Most {
		return nil, errLong
	}
	f, err := in.File(e.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, patch.Most+1))
}

// Apply brings what is chosen into the workspace: all of it, or, if one change
// must not be made, nothing.
func (d Desk) Apply(choice Choice, by string) (paddock.Applied, error) {
	lock, err := d.lock()
	if err != nil {
		return paddock.Applied{}, err
	}
	defer letGo(lock)
	kept, found, err := d.open(choice)
	if err != nil {
		return paddock.Applied{}, err
	}
	defer kept.Close()
	groups, err := os.Getgroups()
	if err != nil {
		return paddock.Applied{}, err
	}
	dirs := map[string]bool{}
	for _, c := range found.All {
		dirs[c.Path()] = (c.Before == nil || c.Before.Directory()) && (c.After == nil || c.After.Directory())
	}
	order := &apply.Order{
		Base: kept.Base, From: kept.From, Changes: found.All, Unreadable: found.Unreadable,
		Overwrite: len(choice.Paths) > 0, Resumed: paddock.HalfApplied(d.Run.Deeds),
		Protected: func(name string) bool { return protect.Matches(name, dirs[name]) },
		Temp:      ".paddock-apply-" + string(d.Run.ID), UID: os.Geteuid(), Groups: append(groups, os.Getegid()),
	}
	troubles, err := order.Check()
	if err != nil {
		return paddock.Applied{}, err
	}
	if len(troubles) > 0 {
		return paddock.Applied{}, refusal(troubles)
	}
	out := paddock.Applied{Run: d.Run.ID, Root: kept.Root, Paths: []string{}}
	for _, c := range found.All {
		out.Paths = append(out.Paths, shown(c.Path()))
	}
	if len(out.Paths) == 0 {
		return out, nil
	}
	deed := paddock.Deed{Kind: paddock.DeedApplying, At: d.Now(), By: by, Paths: out.Paths[:min(len(out.Paths), mostListed)]}
	deed.More = len(out.Paths) - len(deed.Paths)
	if err := d.AddDeed(deed); err != nil {
		return paddock.Applied{}, err
	}
	err = order.Do()
	if err == nil {
		err = kept.Base.Sync()
	}
	if err != nil {
		return paddock.Applied{}, fmt.Errorf("the changes of run %s are half applied; apply again to do the rest: %w", d.Run.ID, err)
	}
	deed.Kind, deed.At = paddock.DeedApplied, d.Now()
	return out, d.AddDeed(deed)
}

// refusal says why nothing is applied: what must never be comes first.
func refusal(troubles []apply.Trouble) error {
	code := paddock.WorkspaceChanged
	never := slices.DeleteFunc(slices.Clone(troubles), func(t apply.Trouble) bool { return t.Changed })
	if len(never) > 0 {
		code, troubles = paddock.ChangeRefused, never
	}
	one := func(t apply.Trouble) string { return fmt.Sprintf("%q: %s", t.Path, t.Why) }
	r := paddock.Refused(code, "Nothing was applied. %s", one(troubles[0])+".")
	if len(troubles) > 1 {
		r.Message = fmt.Sprintf("Nothing was applied, because of %d paths. %s.", len(troubles), one(troubles[0]))
	}
	for _, t := range troubles[1:min(len(troubles), mostNamed)] {
		r.Others = append(r.Others, *paddock.Refused(code, "%s.", one(t)))
	}
	return r
}

// lock keeps others from applying to the same root, and the changes from being
// discarded.
func (d Desk) lock() (*os.File, error) {
	sealed, err := d.Sealed()
	if err != nil {
		return nil, err
	}
	lock, err := d.State.LockRoot(sealed.Decision.Grant().Root)
	if err == nil && lock == nil {
		r := paddock.Refused(paddock.Conflict, "Changes are being applied to this workspace, or discarded, right now.")
		r.Hint, r.Retryable = "Try again when that is over.", true
		return nil, r
	}
	return lock, err
}

// letGo lets go of a lock. It is unlocked and not only closed: a supervisor that is
// just being started may hold a copy of the descriptor until it is one.
func letGo(lock *os.File) {
	_ = errors.Join(durable.Unlock(lock), lock.Close()) // nothing was written
}

// Discard removes what was kept of the changes and returns the record, which
// says so.
func (d Desk) Discard(by string) (paddock.Run, error) {
	if err := d.discard(by); err != nil {
		return paddock.Run{}, err
	}
	return d.Record(d.Now())
}

func (d Desk) discard(by string) error {
	if err := settled(d.Run); err != nil {
		return err
	}
	lock, err := d.lock()
	if err != nil {
		return err
	}
	defer letGo(lock)
	discarded := slices.ContainsFunc(d.Run.Deeds, func(deed paddock.Deed) bool { return deed.Kind == paddock.DeedDiscarded })
	kept := d.Run.Enforced != nil && d.Run.Enforced.Workspace != ""
	if !kept && !workspace.Exists(d.Path()) {
		return explained(d.Run, workspace.ErrGone)
	}
	// Written down first: what is half removed must not be taken for all.
	if !discarded {
		if err := d.AddDeed(paddock.Deed{Kind: paddock.DeedDiscarded, At: d.Now(), By: by}); err != nil {
			return err
		}
	}
	return workspace.Discard(d.Path())
}
