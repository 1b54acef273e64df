package rules

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/policy"
)

func (d commands) trustCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Let a workspace's own paddock.yaml count, as it is now",
		Long: `Write down the digest of a workspace's paddock.yaml. The file counts from then on,
and stops counting when a single byte of it changes. Read it first: whatever it
allows, whoever works in the workspace may do.`,
		Args: desk.Wants(1, 1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := lookup.RealPath(d.Absolute(args[0]))
			if filepath.Base(path) != lookup.WorkspaceFile {
				return desk.Usage(desk.Plain(path)+" isn't called "+lookup.WorkspaceFile, "only a workspace's file needs trust; name any other with --policy")
			}
			data, digest, err := lookup.ReadProposal(path)
			if err != nil {
				return err
			}
			compiled, err := policy.Load(path, data, d.Lineage.More(path, data)...)
			if err != nil {
				return desk.Usage(err.Error(), "nothing was trusted; paddock policy check "+desk.Quote(path)+" lists every error")
			}
			places := d.PolicyPlaces("")
			if places.Config == "" {
				return desk.Usage("there is no configuration directory to write it down in", "set HOME or XDG_CONFIG_HOME")
			}
			before, err := places.Trusted(path)
			if err != nil { // agreeing now mends it
				d.Say("note", "what was written down about it before can't be used: "+err.Error())
			}
			if before == nil || before.Digest != digest {
				changed := ""
				if before != nil {
					changed = ", which changed since " + before.At.Local().Format("2006-01-02 15:04")
				}
				question := fmt.Sprintf("let %s%s allow %s in %s?", desk.Plain(path), changed, allowed(compiled), desk.QuoteAll(compiled.Roots()))
				if err := d.ask(question, "read it, then say --yes", yes); err != nil {
					return err
				}
				before = &lookup.Trust{Path: path, Digest: digest, At: d.Now().UTC()}
				if err := places.Trust(*before); err != nil {
					return err
				}
			}
			if d.JSON {
				return d.Object(before)
			}
			_, err = fmt.Fprintf(d.Out, "%s counts as long as its digest is %s\n", desk.Plain(path), digest)
			return err
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

// ask lets a person agree. Where nobody can be asked, the answer is no, and
// otherwise says how else to agree.
func (d commands) ask(question, otherwise string, yes bool) error {
	if yes {
		return nil
	}
	if !d.ErrTerminal {
		return desk.Usage("nobody can be asked here: "+question, otherwise)
	}
	if _, err := fmt.Fprintf(d.Err, "paddock: %s [y/N] ", question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(d.In).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return nil
	}
	if err != nil {
		d.Say("note", "no answer")
	}
	return desk.Usage("not agreed: nothing was changed", "")
}
