package audits

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/executor/signing"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

func (d commands) scheduleCommand() *cobra.Command {
	var every, key string
	var entries int
	var off bool
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Have the journal signed by itself, and say how often",
		Long: `Have checkpoints added to the journal by whatever lives for more than some seconds:
paddock mcp, host programs, long commands. --every says how old an entry may become
before it is signed, --entries how many there may be. One is signed at once. Without
flags, say what the schedule is.

The key is read by those processes and never by a supervisor. One that lies beside
the journal protects against accidents only; for more, have another account sign
with audit checkpoint --key.`,
		Example: `  paddock audit schedule --every 1h --entries 1000
  paddock audit schedule --every 1h --key /srv/keys/paddock
  paddock audit schedule --off`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := desk.NotEmpty(cmd, "every", "key"); err != nil {
				return err
			}
			plan := signing.Schedule{Entries: entries}
			if key != "" {
				plan.Key = d.Absolute(key)
			}
			if every != "" {
				var err error
				if plan.Every, err = unit.ParseDuration(every); err != nil {
					return desk.Usage("--every "+desk.Quote(every)+": "+err.Error(), "")
				}
			}
			if off && plan != (signing.Schedule{}) {
				return desk.Usage("--off doesn't go together with the other flags", "leave out one or the other")
			}
			return d.with(func(e *evidence.Evidence) error {
				made, err := false, error(nil)
				switch {
				case off:
					_, err = e.SetSchedule(cmd.Context(), nil)
				case plan != (signing.Schedule{}):
					made, err = e.SetSchedule(cmd.Context(), &plan)
				}
				if made {
					d.Say("note", "a signing key was made; paddock audit key prints its public part, to be kept elsewhere")
				}
				if err != nil {
					return err
				}
				return d.schedule(e)
			})
		},
	}
	cmd.Flags().StringVar(&every, "every", "", "sign what is this `TIME` old: 1h, 30m")
	cmd.Flags().IntVar(&entries, "entries", 0, "sign when there are `N` entries that aren't")
	cmd.Flags().StringVar(&key, "key", "", keyFlag)
	cmd.Flags().BoolVar(&off, "off", false, "sign nothing by itself any more")
	return cmd
}

// schedule shows what applies now.
func (d commands) schedule(e *evidence.Evidence) error {
	s, err := e.Schedule()
	if err != nil {
		return errors.Join(err, desk.Usage("the schedule can't be read", "paddock audit schedule --off removes it"))
	}
	if d.JSON {
		out := struct {
			Scheduled bool   `json:"scheduled"`
			EveryMS   int64  `json:"every_ms,omitempty"`
			Entries   int    `json:"entries,omitempty"`
			Key       string `json:"key,omitempty"`
		}{Scheduled: s != nil}
		if s != nil {
			out.EveryMS, out.Entries, out.Key = s.Every.Milliseconds(), s.Entries, s.Key
		}
		return d.Object(out)
	}
	if s == nil {
		_, err = fmt.Fprintln(d.Out, "nothing is signed by itself")
		return err
	}
	f := [][2]string{}
	if s.Every > 0 {
		f = append(f, [2]string{"every", s.Every.Round(time.Millisecond).String()})
	}
	if s.Entries > 0 {
		f = append(f, [2]string{"entries", fmt.Sprint(s.Entries)})
	}
	where := "beside the journal"
	if s.Key != "" {
		where = desk.Plain(s.Key)
	}
	return d.Fields(append(f, [2]string{"key", where}))
}
