package runs

import (
	"context"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/runs/keyboard"
)

// enough is how much of what was printed before is shown to who attaches: a screen has less.
const enough = 64 << 10

func (d commands) attachCommand() *cobra.Command {
	var seat keyboard.Seat
	cmd := &cobra.Command{
		Use:   "attach [flags] RUN",
		Short: "Sit at the terminal of a run",
		Long: `Sit at the terminal of a run that was started with run --tty: what the program draws
is shown, and what is typed goes to it, ^C too. Ctrl-P and then Ctrl-Q leave; the run
goes on, as it does when the terminal closes. Its status is the exit status.

One types at a time: who attaches last. Those before go on watching, and may attach again.
What makes a terminal answer, or act beyond its screen, is left out of what is drawn,
unless --raw is given.`,
		Example:           `  paddock run -d --tty -- top` + "\n" + `  paddock attach RUN`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			if d.JSON {
				return desk.Usage("paddock attach shows a terminal, which is no JSON", "paddock status RUN --json tells of the run")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				r, err := v.Status(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				if err := d.onOne(cmd.Context(), v, r); err != nil {
					return err
				}
				seat.Desk, seat.Run, seat.Offset = d.Desk, id, max(0, r.Stdout.Bytes-enough)
				return d.sit(cmd.Context(), v, seat)
			})
		},
	}
	cmd.Flags().BoolVar(&seat.Watch, "watch", false, "only watch, and type nothing")
	cmd.Flags().BoolVar(&seat.Raw, "raw", false, "show all that is drawn as it is; only for programs that are trusted")
	return cmd
}

// onOne refuses to sit where no terminal is: there every key would be taken, and none read.
func (d commands) onOne(ctx context.Context, v desk.Verbs, r paddock.Run) error {
	if r.StartedAt == nil {
		return nil
	}
	whole, err := v.Detail(ctx, d.Operator(), r.ID)
	if err != nil || whole.Request.Command.Terminal != nil {
		return err
	}
	return desk.Usage("run "+string(r.ID)+" has no terminal", "paddock logs -f "+string(r.ID)+" shows what it prints; paddock run --tty starts one with a terminal, where the policy says `pty: true`")
}

// onTerminal starts the run and sits at its terminal.
func (d commands) onTerminal(ctx context.Context, v desk.Verbs, req paddock.Request, raw bool) error {
	signals, restore := d.Signals()
	r, early, err := d.begin(ctx, v, req, signals)
	restore()
	if err != nil {
		return err
	}
	if early != nil {
		d.pass(ctx, v, r.ID, early, 1)
	}
	if r.State == paddock.Waiting {
		d.Say("waiting", "a person must approve this: paddock approve show "+string(r.Approval)+" (paddock kill "+string(r.ID)+" takes it back)")
	}
	return d.sit(ctx, v, keyboard.Seat{Desk: d.Desk, Run: r.ID, Raw: raw})
}

// sit sits there until the run is over or the person leaves.
func (d commands) sit(ctx context.Context, v desk.Verbs, seat keyboard.Seat) error {
	left, err := seat.Sit(ctx, v)
	if err != nil {
		return err
	}
	if left {
		d.Say("left", "the run goes on: paddock attach "+string(seat.Run)+" comes back, paddock kill "+string(seat.Run)+" ends it")
		return nil
	}
	r, err := v.Wait(ctx, d.Operator(), seat.Run, 0)
	if err != nil {
		return err
	}
	d.End(r)
	return desk.RunError(r)
}
