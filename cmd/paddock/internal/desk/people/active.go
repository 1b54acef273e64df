package people

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
	"paddock/internal/client/papers"
)

// userActive lists also who acts without an account of its own: sessions of agents, and the
// operator of the machine.
func (d commands) userActive() *cobra.Command {
	var cursor string
	var limit int
	cmd := &cobra.Command{
		Use:   "active",
		Short: "List who had something run, the latest first",
		Long: `List who had something run by the server, the latest first, agents too, and after them
accounts that never had.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return desk.Usage("--limit is at least 1", "")
			}
			return d.with(cmd.Context(), func(c *client.Client) error {
				page, err := papers.Active(cmd.Context(), c, cursor, limit)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(page)
				}
				rows := [][]string{{"PRINCIPAL", "KIND", "ROLE", "LAST RUN", "LAST SEEN"}}
				for _, p := range page.Principals {
					role, seen := "-", "-"
					if p.Account != nil {
						role, seen = p.Account.Role, when(p.Account.LastSeen)
					}
					rows = append(rows, []string{p.ID, string(p.Kind), role, when(p.LastRunAt), seen})
				}
				if page.Next != "" {
					d.Say("note", "there are more: --cursor "+desk.Plain(page.Next))
				}
				return d.table(rows)
			})
		},
	}
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on where the `PAGE` before said")
	cmd.Flags().IntVar(&limit, "limit", 50, "how `MANY`, at most 200")
	return cmd
}
