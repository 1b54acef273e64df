// Package asked has the commands of persons who are asked for approval.
//
// # Limits
//
// It signs what a person says with the key that the person names. Whether that
// counts is asked of the verbs.
package asked

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/approval"
	"paddock/internal/journal/sign"
)

type commands struct{ *desk.Desk }

// Command returns approve, with those below it.
func Command(at *desk.Desk) *cobra.Command {
	d := commands{at}
	cmd := d.Group(&cobra.Command{
		Use:   "approve",
		Short: "Look at what waits for approval, approve it or deny it",
		Long: `A rule of a policy can ask: then persons whose keys the policy lists must approve
what is to be run, to the last fact. Approving is a signature with such a key, by
somebody else than who asks. What was approved starts once, unless both the policy
and who approves say more, and only if nothing is different then.`,
		Example: `  paddock approve key                       make your key, and print what a policy lists
  paddock approve list                      what waits
  paddock approve show ID                   what exactly would run
  paddock approve yes ID
  paddock approve deny ID --reason 'not on a Friday'`,
	})
	cmd.AddCommand(d.listCommand(), d.showCommand(), d.voteCommand(true), d.voteCommand(false), d.exportCommand(), d.signCommand(), d.addCommand(), d.keyCommand(), d.verifierCommand())
	return cmd
}

func (d commands) listCommand() *cobra.Command {
	var all, quiet bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what waits for approval",
		Long: `List what waits for approval. What was asked for runs that have ended since is left
out: with --all it is there, and says that nobody waits.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				list, broken := v.Approvals(cmd.Context(), d.Operator())
				if list == nil && broken != nil {
					return broken
				}
				shown := []paddock.Approval{}
				for _, a := range list {
					if all || a.State == paddock.ApprovalWaiting && !a.Left() {
						shown = append(shown, a)
					}
				}
				return errors.Join(d.list(shown, quiet), broken)
			})
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "only their ids")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also what was approved, denied, used or expired")
	return cmd
}

func (d commands) list(shown []paddock.Approval, quiet bool) error {
	if d.JSON {
		return d.Object(map[string]any{"approvals": shown})
	}
	for _, a := range shown {
		if quiet {
			if _, err := fmt.Fprintln(d.Out, a.ID); err != nil {
				return err
			}
			continue
		}
		also, until := "", a.ExpiresAt
		switch {
		case a.Left():
			also = "  (nobody waits any more)"
		case a.State == paddock.ApprovalWaiting && a.Approvers > 1:
			also = fmt.Sprintf("  (%d of %d approve)", approved(a), a.Approvers)
		case a.State == paddock.ApprovalApproved: // then that is how long it may be used
			for _, v := range a.Votes {
				if v.Approve && v.Until.Before(until) {
					until = v.Until
				}
			}
		}
		_, err := fmt.Fprintf(d.Out, "%s  %-8s  until %s  %s%s\n", a.ID, a.State, until.UTC().Format(time.RFC3339), desk.QuoteAll(a.Matter.Argv), also)
		if err != nil {
			return err
		}
	}
	return nil
}

func (d commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show what exactly would run, who asked and who said what",
		Args:  desk.Wants(1, 1, "one id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := approval.ParseID(args[0])
			if err != nil {
				return desk.Usage(err.Error(), "paddock approve list shows them")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				a, err := v.Approval(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				return d.show(a)
			})
		},
	}
}

func (d commands) show(a paddock.Approval) error {
	if d.JSON {
		return d.Object(a)
	}
	m := a.Matter
	lines := [][2]string{
		{"id", string(a.ID)}, {"state", string(a.State)}, {"asked", a.AskedAt.UTC().Format(time.RFC3339)}, {"expires", a.ExpiresAt.UTC().Format(time.RFC3339)},
		{"by", desk.Plain(m.Principal.ID)}, {"rules", desk.Plain(strings.Join(m.Rules, ", "))}, {"argv", desk.QuoteAll(m.Argv)},
	}
	lines = append(lines, says(a)...)
	for _, p := range m.Programs {
		lines = append(lines, [2]string{"program", desk.Plain(p.Path) + " " + string(p.Digest)})
	}
	lines = append(lines, [2]string{"directory", desk.Plain(m.Dir)}, [2]string{"variables", desk.Plain(strings.Join(m.EnvironmentNames, " "))})
	stdin := "empty"
	switch {
	case m.Terminal:
		stdin = "a terminal: whatever is typed there while it runs, which nobody judges"
	case m.Stdin != "":
		stdin = string(m.Stdin)
	}
	lines = append(lines,
		[2]string{"stdin", stdin}, [2]string{"containment", desk.Plain(m.Containment.String())}, [2]string{"policy", string(m.PolicyDigest)},
		[2]string{"digest", string(a.Digest)}, [2]string{"approvers", fmt.Sprint(a.Approvers)},
	)
	if m.SecondFactor {
		lines = append(lines, [2]string{"factor", "who approves shows a second factor to a verifier of the policy"})
	}
	for _, v := range a.Votes {
		said := "denies"
		if v.Approve {
			said = fmt.Sprintf("approves, %d use(s) until %s", v.Uses, v.Until.UTC().Format(time.RFC3339))
		}
		if v.Factor != nil {
			said += fmt.Sprintf(", second factor of %s shown to %s at %s", v.Factor.Account, v.Factor.Verifier, v.Factor.ShownAt.UTC().Format(time.RFC3339))
		}
		if v.Reason != "" {
			said += ": " + v.Reason
		}
		lines = append(lines, [2]string{"vote", desk.Plain(v.Name + " " + said)})
	}
	for _, why := range a.Void {
		lines = append(lines, [2]string{"void", desk.Plain(why)})
	}
	for _, run := range a.Waits {
		lines = append(lines, [2]string{"waits", string(run)})
	}
	for _, run := range a.Ended {
		lines = append(lines, [2]string{"ended", string(run) + ", which waits no more"})
	}
	for _, run := range a.Used {
		lines = append(lines, [2]string{"used", string(run)})
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(d.Out, "%-12s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// says are the lines of what the rules say that asked.
func says(a paddock.Approval) (lines [][2]string) {
	for _, s := range a.Says {
		switch {
		case s.Unknown:
			lines = append(lines, [2]string{"says", desk.Plain(s.Rule) + ": the text of its policy isn't kept any more, so what it says can't be told"})
		case s.Message != "":
			lines = append(lines, [2]string{"says", desk.Plain(s.Rule + ": " + s.Message)})
		}
	}
	return lines
}

func (d commands) voteCommand(yes bool) *cobra.Command {
	var f voteFlags
	cmd := &cobra.Command{
		Use: "deny ID", Aliases: []string{"no"},
		Short: "Deny it, also what was approved and isn't used yet",
		Args:  desk.Wants(1, 1, "one id"),
	}
	if yes {
		cmd.Use, cmd.Aliases, cmd.Short = "yes ID", []string{"approve"}, "Approve it, by a signature with your key"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := approval.ParseID(args[0])
		if err != nil {
			return desk.Usage(err.Error(), "paddock approve list shows them")
		}
		return d.With(cmd.Context(), func(v desk.Verbs) error {
			a, err := v.Approval(cmd.Context(), d.Operator(), id)
			if err != nil {
				return err
			}
			envelope, err := d.sign(a, f, yes)
			if err != nil {
				return err
			}
			if a, err = v.Vote(cmd.Context(), d.Operator(), id, envelope); err != nil {
				return err
			}
			return d.said(a)
		})
	}
	f.add(cmd, yes)
	return cmd
}

// approved is how many approve.
func approved(a paddock.Approval) (n int) {
	for _, v := range a.Votes {
		if v.Approve {
			n++
		}
	}
	return n
}

func (d commands) said(a paddock.Approval) error {
	if d.JSON {
		return d.Object(a)
	}
	line := string(a.ID) + " is " + string(a.State)
	switch {
	case a.State == paddock.ApprovalWaiting:
		line += fmt.Sprintf(": %d of %d approve", approved(a), a.Approvers)
	case len(a.Used) > 0: // by what waited for it
		line = string(a.ID) + " is approved"
	}
	for _, run := range a.Used {
		line += "\nstarted " + string(run)
	}
	_, err := fmt.Fprintln(d.Out, line)
	return err
}

func (d commands) keyCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print your public key as a policy lists it; the key is made where there is none",
		Long: `Print your public key as a policy lists it under approvals.keys. Where there is no
key it is made, readable by you alone. Keep it out of reach of what you approve: a
program that runs uncontained as you could read it.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			path := d.ApprovalKey(file)
			if path == "" {
				return desk.Usage("there is no place for a key", "set HOME, or name a file with --key")
			}
			k, err := d.load(path)
			if err != nil {
				return err
			}
			if d.JSON {
				return d.Object(map[string]string{"key": approval.KeyText(&k.Public), "file": path})
			}
			_, err = fmt.Fprintln(d.Out, approval.KeyText(&k.Public))
			return err
		},
	}
	cmd.Flags().StringVar(&file, "key", "", "your key's `FILE` (default approval.key beside your policies)")
	return cmd
}

func (d commands) load(path string) (*sign.Key, error) {
	k, err := sign.Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := d.MakeDirFor(path); err != nil {
		return nil, err
	}
	k, made, err := sign.LoadOrCreate(path)
	if made {
		d.Say("note", "a key was made: "+desk.Plain(path))
	}
	return k, err
}
