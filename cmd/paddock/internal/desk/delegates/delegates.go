// Package delegates has the commands that give tasks to agents.
//
// # Limits
//
// They ask and print. Which agents there are is the policy's.
package delegates

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy/compiled/document/shape/table/unit"
	"paddock/internal/task/delegate"
)

type commands struct{ *desk.Desk }

// Command returns the command delegate.
func Command(at *desk.Desk) *cobra.Command {
	d := commands{at}
	cmd := at.Group(&cobra.Command{
		Use:   "delegate",
		Short: "Give tasks to the agents of the policy",
		Long: `Give a task to an agent that the policy's delegates section lists, and collect what it
reports. A result comes again with each collect until it is acknowledged.`,
		Example: `  paddock delegate start --provider reviewer 'review the last commit'
  paddock delegate collect --all
  paddock delegate collect --acknowledge d01kb5m0e4n8xjq2c6z7w3v9tya`,
	})
	cmd.AddCommand(d.start(), d.list(), d.collect(), d.cancel(), d.prune())
	return cmd
}

func (d commands) start() *cobra.Command {
	ask := delegate.Ask{}
	var timeout string
	cmd := &cobra.Command{
		Use: "start [TASK]", Short: "Give a task to an agent, as an argument or on standard input", Args: desk.Wants(0, 1, "one text, the task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask.Principal, ask.Door = d.Operator(), paddock.DoorCLI
			ask.Parent, _ = d.Env(delegate.Variable)
			if timeout != "" {
				longest, err := unit.ParseDuration(timeout)
				if err != nil {
					return desk.Usage("--timeout "+desk.Quote(timeout)+": "+err.Error(), "as in --timeout 90s or --timeout 1h")
				}
				ask.Timeout = paddock.Duration(longest)
			}
			if len(args) == 1 {
				ask.Task = args[0]
			} else {
				text, err := io.ReadAll(io.LimitReader(d.In, delegate.MostTask+1))
				if err != nil {
					return err
				}
				ask.Task = string(text)
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error { return d.give(cmd.Context(), v, ask) })
		},
	}
	cmd.Flags().StringVar(&ask.Provider, "provider", "", "`NAME` of the agent in the policy (default the only one)")
	cmd.Flags().StringVar(&ask.Label, "label", "", "`TEXT` for people, in place of the task's beginning")
	cmd.Flags().StringVar(&ask.Dir, "dir", "", "work in `DIR` (default the first root)")
	cmd.Flags().StringVar(&timeout, "timeout", "", "end it after `TIME`; can only lower the policy's")
	cmd.Flags().StringVar(&ask.Key, "key", "", "asking again with the same `KEY` and task returns the same delegate")
	return cmd
}

// give gives the task, and stays where the delegate has tools, which are served here.
func (d commands) give(ctx context.Context, v desk.Verbs, ask delegate.Ask) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, restore := d.Signals()
	defer restore()
	if d.Tools != nil {
		d.Tools(v)
	}
	one, err := v.Delegate(ctx, ask)
	if err != nil {
		return err
	}
	if d.JSON {
		err = d.Object(one)
	} else {
		_, err = fmt.Fprintln(d.Out, one.ID)
	}
	if err != nil || len(one.Tools) == 0 || !one.Pending() {
		return err
	}
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	for wait := true; wait && err == nil; {
		var got delegate.Collected
		got, err = v.CollectDelegates(ctx, delegate.Collect{Principal: ask.Principal, ID: one.ID, Wait: paddock.MaxWait})
		wait = got.TimedOut
	}
	if ctx.Err() != nil { // asked to end: what has tools here ends with us
		_, err = v.CancelDelegate(context.WithoutCancel(ctx), ask.Principal, one.ID, "its caller was asked to end")
	}
	return err
}

func (d commands) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the delegates whose results aren't acknowledged", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				all, err := v.Delegates(cmd.Context(), d.Operator())
				if err != nil {
					return err
				}
				if d.JSON {
					if all == nil {
						all = []delegate.Delegate{}
					}
					return d.Object(struct {
						Delegates []delegate.Delegate `json:"delegates"`
					}{all})
				}
				return d.print(all, false)
			})
		},
	}
}

func (d commands) collect() *cobra.Command {
	var c delegate.Collect
	var wait string
	cmd := &cobra.Command{
		Use: "collect [DELEGATE]", Short: "Show results that wait, and acknowledge those that you have", Args: desk.Wants(0, 1, "at most one delegate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Principal = d.Operator()
			if len(args) == 1 {
				c.ID = args[0]
			}
			asked, err := unit.ParseDuration(wait)
			if wait != "0" && err != nil || asked > paddock.MaxWait {
				return desk.Usage("--wait "+desk.Quote(wait)+" isn't a time from 0 to 45s", "ask again to wait on")
			}
			c.Wait = asked
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				got, err := v.CollectDelegates(cmd.Context(), c)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(got)
				}
				if err := d.print(got.Completed, true); err != nil {
					return err
				}
				if got.TimedOut {
					d.Say("note", fmt.Sprintf("the wait was over; %d pending", got.Pending))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&c.All, "all", false, "wait until no delegate is pending, not only for the first result")
	cmd.Flags().StringVar(&wait, "wait", "45s", "wait at most `TIME`, up to 45s; 0 only looks")
	cmd.Flags().StringArrayVar(&c.Acknowledge, "acknowledge", nil, "`DELEGATE` whose result you have; repeatable")
	return cmd
}

func (d commands) cancel() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: "cancel DELEGATE", Short: "End a delegate, or take it out of the queue", Args: desk.Wants(1, 1, "one delegate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				one, err := v.CancelDelegate(cmd.Context(), d.Operator(), args[0], why)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(one)
				}
				return d.print([]delegate.Delegate{one}, false)
			})
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "`TEXT` for the record")
	return cmd
}

func (d commands) print(all []delegate.Delegate, reports bool) error {
	var b strings.Builder
	for _, one := range all {
		status := string(one.State)
		if r := one.Result; r != nil {
			status = fmt.Sprintf("%s after %s", r.Status, time.Duration(r.Duration).Round(time.Millisecond))
			if r.Error != "" {
				status += ": " + r.Error
			}
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", one.ID, desk.Plain(status), desk.Plain(one.Label))
		if one.Result == nil || !reports {
			continue
		}
		for line := range strings.Lines(one.Result.Summary) {
			fmt.Fprintf(&b, "    %s\n", desk.Plain(strings.TrimSuffix(line, "\n")))
		}
		if one.Result.Artifact != "" {
			fmt.Fprintf(&b, "    (all of it: paddock output %s)\n", one.Result.Artifact)
		}
	}
	_, err := io.WriteString(d.Out, b.String())
	return err
}
