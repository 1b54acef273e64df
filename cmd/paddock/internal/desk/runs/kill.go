package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
)

func (d commands) killCommand() *cobra.Command {
	var all bool
	var req app.KillRequest
	cmd := &cobra.Command{
		Use:   "kill RUN…",
		Short: "End runs with all their processes",
		Long: `End runs with everything they started. Each is asked to end with the signal; what
is still there after the grace period is killed. The command returns when they
are over. Killing a run that has ended changes nothing.`,
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Signal = upper(req.Signal)
			switch {
			case all && len(args) > 0:
				return desk.Usage("--all ends every run: it doesn't go with a list", "leave out one of the two")
			case !all && len(args) == 0:
				return desk.Usage("no run is named", "paddock kill RUN…, or paddock kill --all")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				runs, err := d.kill(cmd.Context(), v, args, req)
				if d.JSON && (err == nil || len(runs) > 0) {
					return errors.Join(d.Runs(app.Listing{Runs: runs}), err)
				}
				if all && err == nil && len(runs) == 0 {
					d.Say("note", "no run is going on, so nothing was ended")
				}
				for _, r := range runs {
					if _, err := fmt.Fprintln(d.Out, r.ID, desk.Describe(r)); err != nil {
						return err
					}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&req.Signal, "signal", "s", "TERM", "TERM, INT, HUP or KILL")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVar(&all, "all", false, "every run that is going on")
	cmd.Flags().BoolVar(&req.NoWait, "no-wait", false, "ask and return at once")
	return cmd
}

// kill ends the runs that words name, or all without any. Every run is tried;
// the first thing that went wrong is returned beside what did work.
func (d commands) kill(ctx context.Context, v desk.Verbs, words []string, req app.KillRequest) ([]paddock.Run, error) {
	if len(words) == 0 {
		return v.KillAll(ctx, d.Operator(), req)
	}
	ids := make([]paddock.RunID, len(words))
	for i, word := range words {
		var err error
		if ids[i], err = desk.RunID(word); err != nil {
			return nil, err // before anything is touched: a slip of the hand kills nothing
		}
	}
	var runs []paddock.Run
	var first error
	for _, id := range ids {
		r, err := v.Kill(ctx, d.Operator(), id, req)
		switch {
		case err == nil:
			runs = append(runs, r)
		case first == nil:
			first = err
		default:
			d.Say("warning", string(id)+": "+err.Error())
		}
	}
	return runs, first
}

// upper accepts a signal's name in the ways people write it.
func upper(signal string) string {
	return strings.TrimPrefix(strings.ToUpper(signal), "SIG")
}
