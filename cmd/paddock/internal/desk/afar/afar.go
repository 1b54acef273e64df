// Package afar has the verbs of a server elsewhere, for the commands that work with it
// as with the state directory here.
//
// # Limits
//
// What no server has is refused with words that say so.
package afar

import (
	"context"
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
	return []string{"ps", "run", "attach", "wait", "status", "output", "logs", "show", "kill", "approve", "user", "invite", "token", "workers", "worktree", "login", "logout", "audit export", "policy changes"}
}

// Check refuses --server beside a command that looks at this machine.
func Check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("server") {
		return nil
	}
	words := strings.Fields(cmd.CommandPath())
	for _, c := range commands() {
		if len(words) > 1 && strings.HasPrefix(strings.Join(words[1:], " ")+" ", c+" ") {
			return nil
		}
	}
	return desk.Usage("paddock "+strings.Join(words[1:], " ")+" works on this machine, not on a server", "with --server work: "+strings.Join(commands(), ", "))
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
