// Package stock has the commands about what stays of runs that are over.
//
// # Limits
//
// What may be removed is asked of the verbs and nowhere here.
package stock

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/retention"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Commands returns keep, unkeep, prune and bank.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	return []*cobra.Command{
		d.change("keep", "Keep the output of runs from being pruned",
			"Keep the output and the record of runs, also of those that go on, whatever prune or the\npolicy's retention would remove.",
			(*retention.Retention).Keep),
		d.change("unkeep", "Let the output of runs be pruned again",
			"Take paddock keep back.", (*retention.Retention).Unkeep),
		d.pruneCommand(), d.bankCommand(),
	}
}

// with opens the state directory's retention and closes it again.
func (d commands) with(ctx context.Context, f func(r *retention.Retention) error) error {
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place where runs could be", "set HOME, or name a directory with --state")
	}
	r, err := retention.Open(ctx, d.Operator(), state, d.Now, func(err error) { d.Say("warning", err.Error()) })
	if err != nil {
		return err
	}
	return errors.Join(f(r), r.Close())
}

func (d commands) change(name, short, long string, do func(*retention.Retention, context.Context, paddock.RunID) (paddock.Run, error)) *cobra.Command {
	return &cobra.Command{
		Use:               name + " RUN…",
		Short:             short,
		Long:              long,
		Args:              desk.Wants(1, -1, "runs"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := ids(args)
			if err != nil {
				return err
			}
			return d.with(cmd.Context(), func(r *retention.Retention) error {
				all := struct {
					Runs []paddock.Run `json:"runs"`
				}{[]paddock.Run{}}
				for _, id := range ids {
					run, err := do(r, cmd.Context(), id)
					if err != nil {
						return err
					}
					all.Runs = append(all.Runs, run)
				}
				if d.JSON {
					return d.Object(all)
				}
				return nil
			})
		},
	}
}

func ids(words []string) ([]paddock.RunID, error) {
	var ids []paddock.RunID
	for _, word := range words {
		id, err := desk.RunID(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// bounds are the flags that say what is kept.
type bounds struct {
	age, size, records, compress string
	runs                         int
	dry                          bool
}

func (d commands) pruneCommand() *cobra.Command {
	var b bounds
	cmd := &cobra.Command{
		Use:   "prune [RUN…]",
		Short: "Remove the output of runs that are over",
		Long: `Remove the output and the standard input of runs that are over: of those named, of
all that the flags don't keep, or without either, of what the policy's retention
doesn't keep of the runs in its roots. If one that is named can't be pruned, none is.
Their records stay and say what was removed,
when and why; records go only with --records. Runs that go on and runs that
paddock keep was used on are passed over. Each removal is told in the journal.

With --compress zstd the output that stays takes less room, also that of runs that are
kept; what is read of it is the same.`,
		Example: `  paddock prune                        what the policy says
  paddock prune --dry-run --age 30d    what is older than a month
  paddock prune --size 20GiB           keep the newest 20 GiB
  paddock prune --records 365d         forget runs after a year
  paddock prune --compress zstd        keep all output in less room`,
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			limits, err := b.limits(cmd)
			if err != nil {
				return err
			}
			if (limits != retention.Limits{}) && len(args) > 0 {
				return desk.Usage("prune takes either runs or limits of what is kept", "name runs, or give --age, --runs, --size, --records or --compress")
			}
			ids, err := ids(args)
			if err != nil {
				return err
			}
			return d.with(cmd.Context(), func(r *retention.Retention) error { return d.prune(cmd.Context(), r, limits, ids, b.dry) })
		},
	}
	cmd.Flags().StringVar(&b.age, "age", "", "keep output for this `TIME` after the end of its run: 30d, 12h")
	cmd.Flags().IntVar(&b.runs, "runs", 0, "keep the output of the newest `N` runs")
	cmd.Flags().StringVar(&b.size, "size", "", "keep the newest output up to this `SIZE`: 20GiB")
	cmd.Flags().StringVar(&b.records, "records", "", "keep records for this `TIME` after the end of their run")
	cmd.Flags().StringVar(&b.compress, "compress", "", "keep output that stays in less room, by `HOW`: zstd")
	cmd.Flags().BoolVar(&b.dry, "dry-run", false, "only say what would be removed")
	return cmd
}

func (b bounds) limits(cmd *cobra.Command) (retention.Limits, error) {
	var l retention.Limits
	if err := desk.NotEmpty(cmd, "age", "size", "records", "compress"); err != nil {
		return l, err
	}
	if cmd.Flags().Changed("runs") && b.runs < 1 {
		return l, desk.Usage("--runs is less than 1", "name runs to prune them all the same")
	}
	l.Runs, l.Compress = b.runs, paddock.Compression(b.compress)
	if l.Compress != "" && l.Compress != paddock.Zstd {
		return l, desk.Usage("--compress "+desk.Quote(b.compress)+" isn't known", "the only way is zstd")
	}
	var err error
	if b.age != "" {
		if l.Age, err = unit.ParseDuration(b.age); err != nil {
			return l, desk.Usage("--age "+desk.Quote(b.age)+": "+err.Error(), "")
		}
	}
	if b.records != "" {
		if l.Records, err = unit.ParseDuration(b.records); err != nil {
			return l, desk.Usage("--records "+desk.Quote(b.records)+": "+err.Error(), "")
		}
	}
	if b.size != "" {
		if l.Size, err = unit.ParseSize(b.size); err != nil {
			return l, desk.Usage("--size "+desk.Quote(b.size)+": "+err.Error(), "")
		}
	}
	return l, nil
}
