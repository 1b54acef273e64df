// Package plans has the commands for checklists: what agents plan to do and how far
// they are.
//
// # Limits
//
// They print and change what is kept. Whether an item is really done is for people.
package plans

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	checklists "paddock/internal/app/plans"
	"paddock/internal/task"
)

type commands struct {
	*desk.Desk
	session *string
}

// Command returns the command tasks.
func Command(at *desk.Desk) *cobra.Command {
	var session string
	d := commands{at, &session}
	cmd := at.Group(&cobra.Command{
		Use:   "tasks",
		Short: "Checklists of agents, and your own",
		Long: `Show and change checklists. Each agent's session has one, which is there again after
a restart; without --session the commands are about your own.`,
		Example: `  paddock tasks list                         every checklist, with its counts
  paddock tasks show --session review        one of them
  paddock tasks create 'read the code' 'write a test'
  paddock tasks update t1 closed --note 'not needed any more'`,
	})
	cmd.PersistentFlags().StringVar(&session, "session", "", "the checklist of `SESSION`: the principal's id as list prints it, or the NAME of mcp --session")
	cmd.AddCommand(d.list(), d.show(), d.create(), d.update(), d.clear(), d.prune())
	return cmd
}

func (d commands) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the checklists that have items", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				all, err := v.Checklists(cmd.Context(), d.Operator())
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(struct {
						Checklists []checklists.Plan `json:"checklists"`
					}{all})
				}
				var b strings.Builder
				for _, p := range all {
					fmt.Fprintf(&b, "%s  %s\n", counted(p), desk.Plain(p.Principal.ID))
				}
				_, err = io.WriteString(d.Out, b.String())
				return err
			})
		},
	}
}

func (d commands) show() *cobra.Command {
	return d.about("show", "Show a checklist", desk.Wants(0, 0, "no words"), func(ctx context.Context, v desk.Verbs, of paddock.Principal, _ []string) (checklists.Plan, error) {
		return v.Tasks(ctx, d.Operator(), of)
	})
}

func (d commands) create() *cobra.Command {
	return d.about("create TITLE…", "Add items", desk.Wants(1, -1, "titles"), func(ctx context.Context, v desk.Verbs, of paddock.Principal, args []string) (checklists.Plan, error) {
		return v.CreateTasks(ctx, d.Operator(), of, args, "")
	})
}

func (d commands) update() *cobra.Command {
	var note string
	cmd := d.about("update ID STATUS", "Set the status of an item: pending, in_progress, done or closed", desk.Wants(2, 2, "an id and a status"),
		func(ctx context.Context, v desk.Verbs, of paddock.Principal, args []string) (checklists.Plan, error) {
			return v.UpdateTask(ctx, d.Operator(), of, task.Change{ID: args[0], Status: task.Status(args[1]), Note: note})
		})
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` beside the item; closed needs one")
	return cmd
}

func (d commands) clear() *cobra.Command {
	return d.about("clear", "Forget all items", desk.Wants(0, 0, "no words"), func(ctx context.Context, v desk.Verbs, of paddock.Principal, _ []string) (checklists.Plan, error) {
		return v.ClearTasks(ctx, d.Operator(), of)
	})
}

func (d commands) about(use, short string, args cobra.PositionalArgs, do func(context.Context, desk.Verbs, paddock.Principal, []string) (checklists.Plan, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				of, err := d.whose(cmd.Context(), v)
				if err != nil {
					return err
				}
				plan, err := do(cmd.Context(), v, of, args)
				if err != nil {
					return err
				}
				return d.print(plan)
			})
		},
	}
}

// whose is the principal of the session that is named.
func (d commands) whose(ctx context.Context, v desk.Verbs) (paddock.Principal, error) {
	name := *d.session
	if name == "" {
		return d.Operator(), nil
	}
	all, err := v.Checklists(ctx, d.Operator())
	if err != nil {
		return paddock.Principal{}, err
	}
	var found []paddock.Principal
	for _, p := range all {
		if p.Principal.ID == name {
			return p.Principal, nil
		}
		if strings.HasSuffix(p.Principal.ID, ":session "+name) {
			found = append(found, p.Principal)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		r := paddock.Refused(paddock.NotFound, "No session %.80q has a checklist.", name)
		r.Hint = "paddock tasks list shows those that have one."
		return paddock.Principal{}, r
	}
	r := paddock.Refused(paddock.Conflict, "%d sessions are called %.80q, under different policies.", len(found), name)
	r.Hint = "Give the whole id, as paddock tasks list prints it."
	return paddock.Principal{}, r
}

func counted(p checklists.Plan) string {
	return fmt.Sprintf("%d pending, %d in progress, %d done, %d closed", p.Counts[task.Pending], p.Counts[task.InProgress], p.Counts[task.Done], p.Counts[task.Closed])
}

func (d commands) print(p checklists.Plan) error {
	if d.JSON {
		return d.Object(p)
	}
	var b strings.Builder
	for _, i := range p.Items {
		fmt.Fprintf(&b, "%-4s  %-11s  %s\n", i.ID, i.Status, desk.Plain(i.Title))
		for line := range strings.Lines(i.Note) {
			fmt.Fprintf(&b, "                   %s\n", desk.Plain(strings.TrimSuffix(line, "\n")))
		}
	}
	fmt.Fprintln(&b, counted(p))
	_, err := io.WriteString(d.Out, b.String())
	return err
}
