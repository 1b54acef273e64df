// Package workspaces keeps directories by name: each belongs to a person and lies below a
// root that the operator gave for that. Nobody says paths; what is asked for is a name.
//
// # Limits
//
// It starts nothing by itself: a clone is two runs like any other, in the workspace and
// under the policy. That a run sees nothing but its workspace is the executor's promise.
package workspaces

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/auth"
	"paddock/internal/dispatch/rows"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
	"paddock/internal/workspace/apply/tree/place"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// House starts runs and says which there are.
type House interface {
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
}

// Config is what Workspaces work with; all of it must be set, but for Roots, without
// which there are none.
type Config struct {
	Store    store.Workspaces
	House    House
	Recorder auth.Recorder
	// Roots are those in which workspaces are made, absolute; the first is the usual one.
	Roots []string
	Now   func() time.Time
}

// Workspaces are those of a server.
type Workspaces struct{ Config }

// New returns Workspaces.
func New(c Config) *Workspaces { return &Workspaces{c} }

// where is a workspace's directory.
func where(w store.Workspace) string { return path.Join(w.Root, w.Path) }

func missing() error {
	r := paddock.Refused(paddock.NotFound, "There is no such workspace among those that you may see.")
	r.Hint = "GET /api/v1/workspaces lists yours; POST makes one."
	return r
}

// isID reports whether a name is taken for an id, so that it can't be the name of any.
func isID(name string) bool { return strings.HasPrefix(name, "w") && len(name) == 27 }

// find finds a workspace by its name, if it is who's, or by its id, if he reaches it with v.
// A credential that isn't for it finds none.
func (s *Workspaces) find(ctx context.Context, who auth.Who, v auth.Verb, name string) (store.Workspace, error) {
	var w store.Workspace
	var err error
	switch {
	case isID(name):
		w, err = s.Store.Workspace(ctx, who.Scope(v), store.WorkspaceID(name))
	case who.User == "":
		return w, missing() // the operator of the machine has none of his own
	default:
		if _, bad := auth.ParseName(name); bad != nil {
			return w, missing()
		}
		w, err = s.Store.WorkspaceNamed(ctx, who.User, name)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !w.Archived.IsZero():
		return store.Workspace{}, missing()
	case err != nil:
		return store.Workspace{}, err
	}
	return w, s.in(who, w)
}

// in refuses a workspace that who's token isn't for: tokens name their owners' own.
func (s *Workspaces) in(who auth.Who, w store.Workspace) error {
	if who.Narrow() && w.Owner != who.User {
		return missing()
	}
	return who.In(w.Name)
}

// Path is the directory in which c starts runs in the workspace of that name.
func (s *Workspaces) Path(ctx context.Context, c gate.Caller, name string) (string, error) {
	if name == "" {
		if c.Who.Narrow() {
			r := paddock.Refused(paddock.Forbidden, "This token is for the workspaces %s alone; say in which.", strings.Join(c.Who.Workspaces, ", "))
			r.Hint = `Add "workspace" to the request.`
			return "", r
		}
		return "", nil
	}
	name, sub, err := belowOf(name)
	if err != nil {
		return "", err
	}
	w, err := s.usable(ctx, c, name)
	if err != nil {
		return "", err
	}
	return path.Join(where(w), sub), nil
}

// within reports whether a run that has this workspace is in the directory dir, or below it.
func within(r paddock.Run, dir string) bool {
	return r.Workspace == dir || strings.HasPrefix(r.Workspace, dir+"/")
}

// usable is the workspace of that name, if c may start something there.
func (s *Workspaces) usable(ctx context.Context, c gate.Caller, name string) (store.Workspace, error) {
	w, err := s.find(ctx, c.Who, auth.RunsStart, name)
	if err == nil && !slices.Contains(s.Roots, w.Root) {
		err = paddock.Refused(paddock.Conflict, "The workspace %s lies in a root that isn't for workspaces any more.", w.Name)
	}
	return w, err
}

// Sees says of runs whether they are in a workspace that c's credential is for.
func (s *Workspaces) Sees(ctx context.Context, c gate.Caller) (func(paddock.Run) bool, error) {
	if !c.Who.Narrow() {
		return nil, nil
	}
	var some []func(paddock.Run) bool
	for _, name := range c.Who.Workspaces {
		w, err := s.Store.WorkspaceNamed(ctx, c.Who.User, name)
		if err == nil {
			some = append(some, s.there(w))
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	return func(r paddock.Run) bool {
		return slices.ContainsFunc(some, func(there func(paddock.Run) bool) bool { return there(r) })
	}, nil
}

// there says of runs whether they are in w. Of what another machine has the queue's row
// may be all that is known, which has a mark.
func (s *Workspaces) there(w store.Workspace) func(paddock.Run) bool {
	dir := where(w)
	mark := string(rows.Workspace(dir, s.Roots))
	return func(r paddock.Run) bool { return within(r, dir) || r.Workspace == "" && r.WorkspaceMark == mark }
}

// make makes one for who.
func (s *Workspaces) make(ctx context.Context, who auth.Who, n NewWorkspace) (Workspace, error) {
	if err := who.May(auth.WorkspacesCreate, auth.Mine); err != nil {
		return Workspace{}, err
	}
	if _, err := auth.ParseName(n.Name); err != nil {
		return Workspace{}, err
	}
	if isID(n.Name) { // nobody would find it
		return Workspace{}, paddock.Refused(paddock.InvalidRequest, "%s looks like the id of a workspace; take another name.", n.Name)
	}
	if err := who.In(n.Name); err != nil {
		return Workspace{}, err
	}
	if who.User == "" {
		return Workspace{}, paddock.Refused(paddock.Forbidden, "A workspace belongs to an account, and the operator of the machine has none.")
	}
	root := n.Root
	if root == "" && len(s.Roots) > 0 {
		root = s.Roots[0]
	}
	if !slices.Contains(s.Roots, root) {
		r := paddock.Refused(paddock.InvalidRequest, "There is no root %.200q for workspaces.", n.Root)
		r.Hint = "The roots for workspaces are " + strings.Join(s.Roots, ", ") + "."
		if len(s.Roots) == 0 {
			r.Hint = "The operator names a root of the policy under `workspaces` in the server's configuration."
		}
		return Workspace{}, r
	}
	now := store.At(s.Now())
	id, err := store.NewID[store.WorkspaceID]('w', now.Time, nil)
	if err != nil {
		return Workspace{}, err
	}
	w := store.Workspace{ID: id, Owner: who.User, Name: n.Name, Root: root, Path: path.Join(who.Name, n.Name), Created: now}
	if err := s.record(ctx, who, auth.WorkspaceMade, id); err != nil {
		return Workspace{}, err
	}
	err = s.Store.AddWorkspace(ctx, w)
	if errors.Is(err, store.ErrExists) {
		return Workspace{}, paddock.Refused(paddock.Conflict, "There is a workspace called %s.", n.Name)
	}
	if err != nil {
		return Workspace{}, err
	}
	if err := place.Make(root, who.Name, n.Name); err != nil {
		gone := s.Store.ArchiveWorkspace(ctx, store.Of(who.User), id, now)
		if errors.Is(err, fs.ErrExist) && gone == nil {
			r := paddock.Refused(paddock.Conflict, "There is something at %s already.", where(w))
			r.Hint = "Take another name, or ask the operator to move it away."
			return Workspace{}, r
		}
		return Workspace{}, errors.Join(fmt.Errorf("workspace %s: %w", id, err), gone)
	}
	return told(w), nil
}

// remove takes one away with all that is in it, unless something runs there.
func (s *Workspaces) remove(ctx context.Context, who auth.Who, name string) error {
	w, err := s.find(ctx, who, auth.WorkspacesRemove, name)
	if err != nil {
		return err
	}
	if err := who.May(auth.WorkspacesRemove, who.Whose(w.Owner)); err != nil {
		return err
	}
	busy, err := s.busy(ctx, s.there(w))
	if err != nil {
		return err
	}
	if busy != "" {
		r := paddock.Refused(paddock.Conflict, "Run %s is at work in the workspace %s.", busy, w.Name)
		r.Hint = "End it first."
		return r
	}
	if err := s.record(ctx, who, auth.WorkspaceRemoved, w.ID); err != nil {
		return err
	}
	// The row goes last: as long as there is one, who asks again goes on with what is left.
	owner, last := path.Split(w.Path)
	limited, cancel := context.WithTimeout(ctx, worktree.RemoveTime)
	defer cancel()
	if err := place.Remove(limited, w.Root, path.Clean(owner), last, ".removed-"+string(w.ID)); err != nil {
		return fmt.Errorf("workspace %s: %w", w.ID, worktree.Late(ctx, err))
	}
	err = s.Store.ArchiveWorkspace(ctx, store.Of(w.Owner), w.ID, store.At(s.Now()))
	if errors.Is(err, store.ErrNotFound) {
		return missing()
	}
	return err
}

// busy is a run that is at work where there says.
func (s *Workspaces) busy(ctx context.Context, there func(paddock.Run) bool) (paddock.RunID, error) {
	f := app.Filter{Active: true, Limit: 1000}
	for {
		page, err := s.House.List(ctx, paddock.Principal{Kind: paddock.Operator, ID: "server"}, f)
		if err != nil {
			return "", err
		}
		for _, r := range page.Runs {
			if there(r) {
				return r.ID, nil
			}
		}
		if f.Before = page.Next; page.Next == "" {
			return "", nil
		}
	}
}

func (s *Workspaces) record(ctx context.Context, by auth.Who, what auth.Action, id store.WorkspaceID) error {
	return s.Recorder.Record(ctx, auth.Event{What: what, By: by.User, Local: by.IsLocal(), Detail: string(id)})
}

// list are those that who reaches, newest first.
func (s *Workspaces) list(ctx context.Context, c *entry.Call) (List, error) {
	who := c.Caller.Who
	page, err := s.Store.Workspaces(ctx, who.Scope(auth.WorkspacesRead), store.Cursor{}, store.MostPage)
	out := List{Workspaces: []Workspace{}, Roots: s.Roots}
	for _, w := range page.Items {
		if w.Archived.IsZero() && s.in(who, w) == nil {
			out.Workspaces = append(out.Workspaces, told(w))
		}
	}
	return out, err
}

// Routes adds the routes.
func (s *Workspaces) Routes(in *entry.Entrance) {
	row := func(method, path, id, summary string, v gate.Verb) entry.Row {
		return entry.NewRow(method, "workspaces"+path, id, summary, "workspaces", v)
	}
	entry.Add(in, row(http.MethodGet, "", "listWorkspaces", "Workspaces, newest first", gate.WorkspacesRead), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (List, error) {
		return s.list(ctx, c)
	})
	made := row(http.MethodPost, "", "makeWorkspace", "Make a workspace, an empty directory below a root for workspaces", gate.WorkspacesCreate)
	made.Status = http.StatusCreated
	entry.Add(in, made, func(ctx context.Context, c *entry.Call, in *struct {
		Body NewWorkspace `body:""`
	}) (Workspace, error) {
		return s.make(ctx, c.Caller.Who, in.Body)
	})
	entry.Add(in, row(http.MethodDelete, "/{name}", "removeWorkspace", "Take a workspace away with all that is in it", gate.WorkspacesRemove), func(ctx context.Context, c *entry.Call, in *named) (entry.Nothing, error) {
		return entry.Nothing{}, s.remove(ctx, c.Caller.Who, in.Name)
	})
	entry.Add(in, row(http.MethodGet, "/{name}/worktrees", "listWorktrees", "Directories of a workspace with a repository of their own, by name", gate.WorkspacesRead), func(ctx context.Context, c *entry.Call, in *named) (worktree.Listing, error) {
		return s.listBelow(ctx, c.Caller.Who, in.Name)
	})
	entry.Add(in, row(http.MethodPost, "/{name}/worktrees/tidy", "tidyWorktrees", "Take worktrees away that were made for runs that are over, and have nothing of their own", gate.WorkspacesClone), func(ctx context.Context, c *entry.Call, in *struct {
		named
		Body worktree.Choice `body:""`
	}) (worktree.Tidied, error) {
		return s.tidyBelow(ctx, c.Caller, in.Name, in.Body)
	})
	entry.Add(in, row(http.MethodDelete, "/{name}/{into}", "removeWorktree", "Take a directory that a clone made in a workspace away, with all that is in it", gate.WorkspacesRemove), func(ctx context.Context, c *entry.Call, in *below) (entry.Nothing, error) {
		return entry.Nothing{}, s.removeBelow(ctx, c.Caller.Who, in.Name, in.Into)
	})
	cloned := row(http.MethodPost, "/{name}/clone", "cloneIntoWorkspace", "Bring a repository into a workspace: git init, then git pull, or into a directory of it by git clone, if the policy allows them", gate.WorkspacesClone)
	cloned.Status = http.StatusCreated
	entry.Add(in, cloned, func(ctx context.Context, c *entry.Call, in *struct {
		named
		Key  string `header:"Idempotency-Key" doc:"Asking again with the same key returns the run of the first time. At most 200 bytes."`
		Body Clone  `body:""`
	}) (paddock.Run, error) {
		return s.clone(ctx, c, in.Name, in.Key, in.Body)
	})
}
