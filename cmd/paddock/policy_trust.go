package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/lookup"
	"paddock/internal/policy"
)

func (c *cli) policyTrustCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Let a workspace's own paddock.yaml count, as it is now",
		Long: `Write down the digest of a workspace's paddock.yaml. The file counts from then on,
and stops counting when a single byte of it changes. Read it first: whatever it
allows, whoever works in the workspace may do.`,
		Args: wants(1, 1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := lookup.RealPath(c.absolute(args[0]))
			if filepath.Base(path) != lookup.WorkspaceFile {
				return &usageError{plain(path) + " isn't called " + lookup.WorkspaceFile, "only a workspace's file needs trust; name any other with --policy"}
			}
			data, digest, err := lookup.ReadProposal(path)
			if err != nil {
				return err
			}
			compiled, err := policy.Load(path, data)
			if err != nil {
				return &usageError{err.Error(), "nothing was trusted; paddock policy check " + quote(path) + " lists every error"}
			}
			places := c.policyPlaces("")
			if places.Config == "" {
				return &usageError{"there is no configuration directory to write it down in", "set HOME or XDG_CONFIG_HOME"}
			}
			before, err := places.Trusted(path)
			if err != nil {
				return err
			}
			if before == nil || before.Digest != digest {
				changed := ""
				if before != nil {
					changed = ", which changed since " + before.At.Local().Format("2006-01-02 15:04")
				}
				question := fmt.Sprintf("let %s%s allow %s in %s?", plain(path), changed, quoteAll(compiled.Words()), quoteAll(compiled.Roots()))
				if err := c.ask(question, yes); err != nil {
					return err
				}
				if err := places.Trust(lookup.Trust{Path: path, Digest: digest, At: c.now().UTC()}); err != nil {
					return err
				}
			}
			if c.settings.json {
				return c.showJSON(lookup.Trust{Path: path, Digest: digest, At: c.now().UTC()})
			}
			_, err = fmt.Fprintf(c.out, "%s counts as long as its digest is %s\n", plain(path), digest)
			return err
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

// ask lets a person agree. Where nobody can be asked, the answer is no.
func (c *cli) ask(question string, yes bool) error {
	if yes {
		return nil
	}
	if !c.errTerminal {
		return &usageError{"nobody can be asked here: " + question, "read it, then say --yes"}
	}
	if _, err := fmt.Fprintf(c.err, "paddock: %s [y/N] ", question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return nil
	}
	if err != nil {
		c.say("note", "no answer")
	}
	return &usageError{"not agreed: nothing was changed", ""}
}
