package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/cmd/paddock/internal/desk/rules/survey"
	"paddock/internal/executor/judge/account"
	"paddock/internal/policy"
	"paddock/internal/policy/propose"
)

func (d commands) initCommand() *cobra.Command {
	var yes, force, print bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Propose a policy for the project here",
		Long: `Look at the project in the current directory and at the tools installed, and write
a policy that allows its usual builds, tests and checks. It is kept in your
configuration directory, outside the project, where what runs here can't reach it
by mistake. Read it and change it: it is yours.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			here, err := d.Here()
			if err != nil {
				return err
			}
			root := lookup.RealPath(here)
			project := survey.Look(root, d.Getenv)
			if d.Levels != nil {
				project.Levels, project.Missing = d.Levels()
			}
			if d.UID == 0 {
				project.RunAs, project.Owns = survey.RunAs(root)
			}
			text := propose.Propose(project)
			if print {
				_, err := d.Out.Write(text)
				return err
			}
			return d.initPolicy(project, text, yes, force)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(&force, "force", false, "replace the policy that is there")
	cmd.Flags().BoolVar(&print, "print", false, "print the proposal and write nothing")
	return cmd
}

// initPolicy writes the policy of the project, whose root is a real directory.
func (d commands) initPolicy(project propose.Project, text []byte, yes, force bool) error {
	root := project.Root
	places := d.PolicyPlaces("")
	if places.Config == "" {
		return desk.Usage("there is no configuration directory to keep the policy in", "set HOME or XDG_CONFIG_HOME, or use --print")
	}
	path := places.ProjectFile(root)
	if lookup.Within(lookup.RealPath(path), root) {
		return desk.Usage(
			"the policy would lie inside the project: "+desk.Plain(path)+" is in "+desk.Plain(root),
			"run this in the project's own directory, or set XDG_CONFIG_HOME to a place outside",
		)
	}
	compiled, err := policy.Load(path, text)
	if err != nil {
		return fmt.Errorf("bug: the proposal isn't a valid policy, please report it: %w", err)
	}
	question := fmt.Sprintf("write a policy that allows %s in %s?", allowed(compiled), desk.Quote(root))
	if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
		return there(path, err)
	}
	if err := d.ask(question, "read what policy init --print shows, then say --yes", yes); err != nil {
		return err
	}
	if err := lookup.Publish(path, text, force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return there(path, nil)
		}
		return err
	}
	if d.JSON {
		return d.Object(struct {
			File  string   `json:"file"`
			Root  string   `json:"root"`
			Words []string `json:"words"`
			// Missing says for what nothing is allowed, since no program is there.
			Missing []string `json:"missing,omitempty"`
		}{path, root, compiled.Words(), propose.Unserved(project)})
	}
	if _, err := fmt.Fprintln(d.Out, path); err != nil {
		return err
	}
	d.next(project, compiled)
	return nil
}

// next tells of what was written, and what to do now.
func (d commands) next(project propose.Project, compiled *policy.Policy) {
	root := project.Root
	d.Say("note", "it allows "+allowed(compiled)+" in "+desk.Quote(root)+", "+desk.Contained(compiled.Contain()))
	for _, m := range propose.Unserved(project) {
		d.Say("note", desk.Plain(m))
	}
	if len(compiled.Words()) == 0 {
		d.Say("hint", "no tool that is known was found here: add programs under `executables`, as docs/policy.md and docs/recipes.md show")
	}
	if hint := d.unreachable(compiled.Contain()); hint != "" {
		d.Say("hint", hint)
	}
	d.Say("hint", "read it, change it, then: paddock policy check")
	for _, t := range compiled.Tests() {
		if !t.Refuse {
			d.Say("hint", "try: cd "+desk.Quote(filepath.Clean(propose.Where(project, t.Argv[0])))+" && paddock run -- "+desk.QuoteAll(t.Argv))
			break
		}
	}
}

// unreachable says what to do where the account that a policy names couldn't get to
// its home, which lies in the state directory: root's own is often closed.
func (d commands) unreachable(as paddock.ContainAs) string {
	found, _, err := account.Find(as)
	dir := d.StateDir(d.State)
	if err != nil || found == nil || as.Level == paddock.Full || dir == "" {
		return ""
	}
	for dir != "/" {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	if refusal := account.Reach(*found, filepath.Join(dir, "home")); refusal != nil {
		return refusal.Message + " Keep runs elsewhere: --state or PADDOCK_STATE, such as /var/lib/paddock."
	}
	return ""
}

// allowed are the words that p permits, for a sentence about them.
func allowed(p *policy.Policy) string {
	if len(p.Words()) == 0 {
		return "nothing yet"
	}
	words := make([]string, 0, len(p.Words()))
	for _, w := range p.Words() {
		words = append(words, desk.Quote(w))
	}
	return strings.Join(words, ", ")
}

func there(path string, err error) error {
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return desk.Usage("there is a policy for this project already: "+desk.Plain(path), "edit it, or replace it with --force")
}
