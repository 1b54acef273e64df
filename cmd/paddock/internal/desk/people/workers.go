package people

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
	"paddock/internal/client/machines"
)

func (d commands) workers() *cobra.Command {
	cmd := d.Group(&cobra.Command{
		Use:   "workers",
		Short: "Look at the machines that carry out a server's runs",
		Long: `Workers carry out what a server queues. They are said by their name or id, and are
those of --server URL, with a token in PADDOCK_TOKEN that is good for workers.read or
workers.change, or of the accounts here. docs/workers.md has the rest.`,
		Example: `  paddock workers list
  paddock workers cordon gpu-1     no new runs
  paddock workers drain gpu-1      no new runs, and its process ends when it has none left
  paddock workers open gpu-1       as usual again`,
	})
	cmd.AddCommand(
		d.workersList(), d.workersAdd(),
		d.workersMode("cordon", "cordoned", "Give a worker no new runs"),
		d.workersMode("drain", "draining", "Give a worker no new runs, and end it when it has none left"),
		d.workersMode("open", "open", "Give a worker runs as usual"),
		d.workersRemove(),
	)
	return cmd
}

func (d commands) workersList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List workers, newest first",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				all, err := machines.List(cmd.Context(), c)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(map[string]any{"workers": all})
				}
				rows := [][]string{{"NAME", "MODE", "RUNS", "LABELS", "LAST SEEN", "JOURNAL", "ID"}}
				for _, w := range all {
					rows = append(rows, []string{w.Name, w.Mode, strconv.FormatInt(w.Capacity, 10), labels(w), when(w.LastSeen), journal(w), w.ID})
					if w.Journal != nil && w.Journal.Problem != "" {
						d.Say("warning", "the journal of worker "+w.Name+" isn't what it was: "+w.Journal.Problem)
					}
				}
				return d.table(rows)
			})
		},
	}
}

// labels are what runs can need of a worker, in a word.
func labels(w machines.Worker) string {
	if len(w.Labels) == 0 {
		return "-"
	}
	return strings.Join(w.Labels, ",")
}

// journal says how far a worker's has come, in a word.
func journal(w machines.Worker) string {
	switch {
	case w.Journal == nil:
		return "-"
	case w.Journal.Problem != "":
		return "ALARM"
	}
	return strconv.FormatInt(w.Journal.Entries, 10)
}

func (d commands) workersAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Add a worker; its credential is told once",
		Args:  desk.Wants(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				made, err := machines.Add(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				return d.once(made, made.Credential, fmt.Sprintf("worker %s has the id %s; its credential, told once, goes into the token_file of its configuration (docs/workers.md)", desk.Plain(made.Name), desk.Plain(made.ID)))
			})
		},
	}
}

func (d commands) workersMode(use, mode, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  desk.Wants(1, 1, "one name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				w, err := machines.Change(cmd.Context(), c, args[0], mode)
				switch {
				case err != nil:
					return err
				case d.JSON:
					return d.Object(w)
				}
				return d.Fields([][2]string{{"name", desk.Plain(w.Name)}, {"mode", desk.Plain(w.Mode)}, {"labels", desk.Plain(labels(w))}, {"last seen", when(w.LastSeen)}, {"id", desk.Plain(w.ID)}})
			})
		},
	}
}

func (d commands) workersRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take away a worker that has no runs",
		Args:  desk.Wants(1, 1, "one name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				if err := machines.Remove(cmd.Context(), c, args[0]); err != nil {
					return err
				}
				if d.JSON {
					return d.Object(map[string]any{"removed": strings.ToValidUTF8(args[0], "")})
				}
				_, err := fmt.Fprintf(d.Out, "%s is removed\n", desk.Plain(args[0]))
				return err
			})
		},
	}
}
