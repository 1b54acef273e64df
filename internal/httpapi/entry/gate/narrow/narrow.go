// Package narrow is about the workspaces of callers: where they start what they start, and
// a house that shows only runs in some workspaces: those that a token
// is for.
//
// # Limits
//
// Whose a run is, is the house's to know; this only leaves out more. A page of a list
// looks at 2,000 runs at most, and may have fewer than was asked for; its cursor is then the
// id of a run that isn't shown.
package narrow

import (
	"cmp"
	"context"
	"errors"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// House are the verbs about runs that are there.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
}

// Workspaces knows those that callers work in.
type Workspaces interface {
	// Path is the directory in which c starts what he starts in the workspace of that
	// name; of none where name is empty, if his credential is for all.
	Path(ctx context.Context, c gate.Caller, name string) (string, error)
	// Sees says of runs whether they are in a workspace that c's credential is for; nil
	// where it is for all.
	Sees(ctx context.Context, c gate.Caller) (func(paddock.Run) bool, error)
	// Worktree makes one of the repository in the workspace of that name, and says by what
	// name Path finds it. Asking again with the same key, if any, finds the same.
	Worktree(ctx context.Context, c gate.Caller, name, rev, key string) (string, error)
	// Worktrees are those of the workspace of that name.
	Worktrees(ctx context.Context, c gate.Caller, name string) (worktree.Listing, error)
	// RemoveWorktree takes one away, by the name that Path finds it by.
	RemoveWorktree(ctx context.Context, c gate.Caller, name string) error
}

// A Worktree is what a run wants made before it: one of the workspace's own repository, at a
// branch or tag.
type Worktree struct {
	Rev string `json:"rev"`
}

// Place makes the worktree that is wanted, if one is, and puts its name in the place of the
// workspace's.
func Place(ctx context.Context, w Workspaces, c gate.Caller, key string, name *string, tree **Worktree) error {
	if *tree == nil {
		return nil
	}
	if w == nil || *name == "" {
		return paddock.Refused(paddock.InvalidRequest, "A worktree is of a workspace's repository; say which workspace.")
	}
	made, err := w.Worktree(ctx, c, *name, (*tree).Rev, key)
	if err == nil {
		*name, *tree = made, nil
	}
	return err
}

// Path is where c starts what he starts in the workspace of that name. A worktree that
// isn't made yet is nowhere.
func Path(ctx context.Context, w Workspaces, c gate.Caller, name string, wanted *Worktree) (string, error) {
	switch {
	case wanted != nil:
		return "", paddock.Refused(paddock.InvalidRequest, "The worktree isn't there yet, so nothing can be said of it; leave it out.")
	case w != nil:
		return w.Path(ctx, c, name)
	case name != "" || c.Who.Narrow():
		return "", paddock.Refused(paddock.NotFound, "There are no workspaces here.")
	}
	return "", nil
}

// Sees says of runs whether c's credential is for where they are; nil where it is for all.
func Sees(ctx context.Context, w Workspaces, c gate.Caller) (func(paddock.Run) bool, error) {
	if !c.Who.Narrow() {
		return nil, nil
	}
	var sees func(paddock.Run) bool
	var err error
	if w != nil {
		sees, err = w.Sees(ctx, c)
	}
	if sees == nil { // nobody knows where those are
		sees = func(paddock.Run) bool { return false }
	}
	return sees, err
}

// Roots is Sees of the roots that things are to run in.
func Roots(w Workspaces) func(context.Context, gate.Caller) (func(root string) bool, error) {
	return func(ctx context.Context, c gate.Caller) (func(string) bool, error) {
		sees, err := Sees(ctx, w, c)
		if sees == nil {
			return nil, err
		}
		return func(root string) bool { return sees(paddock.Run{Workspace: root}) }, err
	}
}

// For returns h as far as c's credential is for it.
func For(ctx context.Context, h House, w Workspaces, c gate.Caller) (House, error) {
	sees, err := Sees(ctx, w, c)
	return To(h, sees), err
}

// Feeds refuses a run that c's credential isn't for, whose output something he starts is to
// read; an empty id is none.
func Feeds(ctx context.Context, h House, w Workspaces, c gate.Caller, id paddock.RunID) error {
	if id == "" || !c.Who.Narrow() {
		return nil
	}
	h, err := For(ctx, h, w, c)
	if err == nil {
		_, err = h.Look(ctx, c.Self(), id)
	}
	return err
}

// To returns h as far as sees says yes; nil means all of it.
func To(h House, sees func(paddock.Run) bool) House {
	if sees == nil {
		return h
	}
	return narrowed{h, sees}
}

type narrowed struct {
	House
	sees func(paddock.Run) bool
}

// shown refuses what isn't to be seen, as what isn't there.
func (n narrowed) shown(ctx context.Context, p paddock.Principal, id paddock.RunID) error {
	_, err := n.Look(ctx, p, id)
	return err
}

func (n narrowed) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	run, err := n.House.Look(ctx, p, id)
	if err == nil && !n.sees(run) {
		return paddock.Run{}, paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
	}
	return run, err
}

func (n narrowed) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	if err := n.shown(ctx, p, id); err != nil {
		return paddock.Run{}, err
	}
	return n.House.Status(ctx, p, id)
}

func (n narrowed) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if err := n.shown(ctx, p, id); err != nil {
		return paddock.Page{}, err
	}
	return n.House.Output(ctx, p, id, req)
}

func (n narrowed) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if err := n.shown(ctx, p, id); err != nil {
		return paddock.Run{}, err
	}
	return n.House.Wait(ctx, p, id, wait)
}

func (n narrowed) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error) {
	if err := n.shown(ctx, p, id); err != nil {
		return app.Detail{}, err
	}
	return n.House.Detail(ctx, p, id)
}

func (n narrowed) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	if err := n.shown(ctx, p, id); err != nil {
		return paddock.Run{}, err
	}
	return n.House.Kill(ctx, p, id, req)
}

func (n narrowed) Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	if err := n.shown(ctx, p, id); err != nil {
		return err
	}
	return n.House.Type(ctx, p, id, t)
}

const (
	usual  = 50   // runs of a page where nobody says how many
	looked = 2000 // runs that one page looks at
)

// List goes on until the page is full, so that what runs elsewhere doesn't take its place.
func (n narrowed) List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error) {
	out, most := app.Listing{Runs: []paddock.Run{}}, cmp.Or(f.Limit, usual)
	var broken error
	for seen := 0; ; {
		l, err := n.House.List(ctx, p, f)
		var some *app.Unreadable
		if err != nil && !errors.As(err, &some) {
			return app.Listing{}, err
		}
		broken = cmp.Or(broken, err)
		for i, r := range l.Runs {
			if !n.sees(r) {
				continue
			}
			if out.Runs = append(out.Runs, r); len(out.Runs) == most && (i+1 < len(l.Runs) || l.Next != "") {
				out.Next = r.ID
				return out, broken
			}
		}
		seen += len(l.Runs)
		if f.Before = l.Next; l.Next == "" || seen >= looked {
			out.Next = l.Next
			return out, broken
		}
	}
}
