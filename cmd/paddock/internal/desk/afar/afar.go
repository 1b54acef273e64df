// Package afar has the verbs of a server elsewhere, for the commands that work with it
// as with the state directory here.
//
// # Limits
//
// What no server has is refused with words that say so.
package afar

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/app/attach"
	"paddock/internal/app/plans"
	"paddock/internal/client"
	"paddock/internal/client/sits"
	"paddock/internal/git"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// commands work with a server.
func commands() []string {
	return []string{"ps", "run", "attach", "wait", "status", "output", "logs", "show", "kill", "approve", "user", "invite", "token", "workers", "worktree", "login", "logout", "audit export", "policy changes", "policy explain"}
}

// kept are commands about the runs of the state directory here, which would be taken for
// those that ps lists of the server.
func kept() []string { return []string{"keep", "unkeep", "prune", "verify", "audit", "state"} }

// Check refuses --server beside a command that looks at this machine, and a server that
// PADDOCK_SERVER names beside one that would silently have runs of this machine.
func Check(d *desk.Desk, cmd *cobra.Command) error {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	among := func(all []string) bool {
		return slices.ContainsFunc(all, func(c string) bool { return name == c || strings.HasPrefix(name, c+" ") })
	}
	switch said := cmd.Flags().Changed("server"); {
	case among(commands()):
	case said:
		return desk.Usage("paddock "+name+" works on this machine, not on a server", "with --server work: "+strings.Join(commands(), ", "))
	case d.ServerURL() != "" && !cmd.Flags().Changed("state") && among(kept()):
		return desk.Usage("paddock "+name+" works on this machine, and PADDOCK_SERVER names a server", "use it on the machine of the server, or name the state directory here with --state")
	}
	return nil
}

// Open returns the verbs of the server.
func Open(d *desk.Desk) (desk.Verbs, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	c, err := client.New(d.ServerURL(), token)
	if err != nil {
		return nil, err
	}
	seats, err := sits.New(d.ServerURL(), token)
	if err != nil {
		return nil, err
	}
	return verbs{c, seats}, nil
}

// verbs are those of a server, and refusals in place of the others.
type verbs struct {
	*client.Client
	seats *sits.Server
}

func unserved(what string) error {
	r := paddock.Refused(paddock.InvalidRequest, "A server doesn't %s yet.", what)
	r.Hint = "Use paddock on the machine of the server, without --server."
	return r
}

func (verbs) Diff(context.Context, paddock.Principal, paddock.RunID, app.Choice) (paddock.Changes, error) {
	return paddock.Changes{}, unserved("show what a run changed")
}

func (verbs) Apply(context.Context, paddock.Principal, paddock.RunID, app.Choice) (paddock.Applied, error) {
	return paddock.Applied{}, unserved("apply what a run changed")
}

func (verbs) Discard(context.Context, paddock.Principal, paddock.RunID) (paddock.Run, error) {
	return paddock.Run{}, unserved("discard what a run changed")
}

func (verbs) Quarantine(context.Context, paddock.Principal, paddock.RunID) (paddock.Quarantine, error) {
	return paddock.Quarantine{}, unserved("show what is in quarantine")
}

func (verbs) Restore(context.Context, paddock.Principal, paddock.RunID, []string) (paddock.Restored, error) {
	return paddock.Restored{}, unserved("restore from quarantine")
}

func (verbs) Git(context.Context, git.Ask) (git.Answer, error) {
	return git.Answer{}, unserved("answer questions about repositories")
}

func (verbs) Bank(context.Context, paddock.Principal, paddock.Principal, paddock.Door, string, []byte) (paddock.Run, error) {
	return paddock.Run{}, unserved("keep what others give")
}

const checklists = "keep checklists for others"

func (verbs) CreateTasks(context.Context, paddock.Principal, paddock.Principal, []string, string) (plans.Plan, error) {
	return plans.Plan{}, unserved(checklists)
}

func (verbs) UpdateTask(context.Context, paddock.Principal, paddock.Principal, task.Change) (plans.Plan, error) {
	return plans.Plan{}, unserved(checklists)
}

func (verbs) Tasks(context.Context, paddock.Principal, paddock.Principal) (plans.Plan, error) {
	return plans.Plan{}, unserved(checklists)
}

func (verbs) Checklists(context.Context, paddock.Principal) ([]plans.Plan, error) {
	return nil, unserved(checklists)
}

func (verbs) ClearTasks(context.Context, paddock.Principal, paddock.Principal) (plans.Plan, error) {
	return plans.Plan{}, unserved(checklists)
}

const delegates = "start delegates for others"

func (verbs) Delegate(context.Context, delegate.Ask) (delegate.Delegate, error) {
	return delegate.Delegate{}, unserved(delegates)
}

func (verbs) CollectDelegates(context.Context, delegate.Collect) (delegate.Collected, error) {
	return delegate.Collected{}, unserved(delegates)
}

func (verbs) CancelDelegate(context.Context, paddock.Principal, string, string) (delegate.Delegate, error) {
	return delegate.Delegate{}, unserved(delegates)
}

func (verbs) Delegates(context.Context, paddock.Principal) ([]delegate.Delegate, error) {
	return nil, unserved(delegates)
}

func (verbs) PruneTasks(context.Context, paddock.Principal, plans.Stale, bool) ([]task.Checklist, error) {
	return nil, unserved(checklists)
}

func (verbs) PruneDelegates(context.Context, paddock.Principal, plans.Stale, bool) ([]delegate.Delegate, error) {
	return nil, unserved(delegates)
}

func (verbs) ExplainDelegate(context.Context, delegate.Ask) (paddock.Decision, error) {
	return paddock.Decision{}, unserved("explain delegates")
}

// Inside implements [desk.Verbs]: a server's delegates aren't here.
func (verbs) Inside(context.Context, paddock.Principal) (string, error) { return "", nil }

// ServeTools implements [desk.Verbs]: a server's delegates get none from here.
func (verbs) ServeTools(delegate.Serve) {}

// Attach implements [desk.Verbs].
func (v verbs) Attach(ctx context.Context, _ paddock.Principal, id paddock.RunID, a attach.Attachment) error {
	return v.seats.Attach(ctx, id, a)
}
