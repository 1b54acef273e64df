package states

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/dispatch/rows/agree"
	"paddock/internal/store"
)

// A Rows is what a server's store has of runs, and which worker this state directory is of.
type Rows struct {
	store.Runs
	Worker store.WorkerID
	// Alone says that no other machine has the store, so whatever worker its runs have
	// was of this directory.
	Alone bool
	Close func() error
}

func (d commands) reconcileCommand(s Server) *cobra.Command {
	var config string
	var dry bool
	var older time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Bring a server's store and the state directory together again",
		Long: `Compare the runs that a server's store knows with those of its state directory, as
after one of both was restored, and mend what can be: a run that is over and that the
store doesn't know is adopted, for whom its record names; one that waits in the queue
and was carried out here is settled as its record says; one whose record was removed is
noted as pruned. The rest is told of. Nothing is started, ended or removed, and what
is settled doesn't change. Each change is written into the journal before.

The store is that of the server's configuration. Do it before the server starts again:
what the queue still has of runs that were carried out would be refused then. It does
no harm while one serves.

The exit status is 1 when something is left that nothing mends by itself.`,
		Example: `  paddock state reconcile --dry-run
  paddock state reconcile --config /etc/paddock/server.yaml --state /var/lib/paddock/state`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.Rows == nil {
				return s.Become()
			}
			if older < 0 {
				return desk.Usage("--older is "+older.String(), "it is how old something must be, as 10m; 0s where no server works now")
			}
			return d.reconcile(cmd.Context(), s, config, older, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell what would be changed")
	cmd.Flags().DurationVar(&older, "older", agree.Recent, "leave alone what may be happening just now and isn't as old as `DURATION`")
	s.Flag(cmd, &config)
	return cmd
}

func (d commands) reconcile(ctx context.Context, s Server, config string, older time.Duration, dry bool) (err error) {
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place where runs could be", "set HOME, or name a directory with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if why := e.ReadOnly(); why != nil && !dry {
		return desk.Usage("nothing can be written down here: "+why.Error(), "--dry-run only looks")
	}
	rows, err := s.Rows(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all := struct {
		agree.Report
		DryRun bool            `json:"dry_run"`
		Found  []agree.Finding `json:"found"`
	}{DryRun: dry, Found: []agree.Finding{}}
	c := agree.Config{State: e.State(), Store: rows.Runs, Worker: rows.Worker, Alone: rows.Alone, Now: d.Now, Older: older, Each: func(f agree.Finding) error {
		if d.JSON {
			all.Found = append(all.Found, f)
			return nil
		}
		_, err := fmt.Fprintln(d.Out, told(f, dry))
		return err
	}}
	if !dry {
		c.Record = e.Reconciling
	}
	if all.Report, err = agree.Reconcile(ctx, c); err != nil {
		return err
	}
	if d.JSON {
		err = d.Object(all)
	} else {
		d.Say("note", fmt.Sprintf("%d runs and %d rows were looked at, %d of other machines weren't; %s", all.Runs, all.Rows, all.Others, changed(all.Changed, dry)))
	}
	if err == nil && all.Left > 0 {
		err = desk.ExitStatus(desk.ExitNo)
	}
	return err
}

func changed(n int, dry bool) string {
	if dry {
		return fmt.Sprintf("%d things would be changed", n)
	}
	return fmt.Sprintf("%d things were changed", n)
}

// told tells of a finding in one line.
func told(f agree.Finding, dry bool) string {
	text := fmt.Sprintf("%-12s ", string(f.Kind))
	if f.Run != "" {
		text += "run " + string(f.Run) + ": "
	}
	text += desk.Plain(f.Detail)
	switch {
	case f.Mend == agree.Done && dry:
		text += " (would be done)"
	case f.Mend == agree.ByBeat:
		text += " (at the worker's next beat)"
	}
	return text
}
