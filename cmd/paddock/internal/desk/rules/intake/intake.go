// Package intake has the command that makes a policy of what other tools allow.
//
// # Limits
//
// What a source means is package migrate's to say; here it is read, programs are
// found, and the answer is printed. Nothing is written.
package intake

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
	"paddock/internal/review/migrate"
)

// Files is how files and programs are found.
type Files struct {
	// Read returns the content of a file that is only looked at.
	Read func(path string) ([]byte, error)
	// Real follows links, as far as a path exists.
	Real func(path string) string
	// Program returns the path of an installed program; empty if there is none.
	Program func(name string) string
}

// Command returns the command import.
func Command(d *desk.Desk, files Files) *cobra.Command {
	readers := map[string]func([]byte) (*migrate.Import, error){"claude": migrate.Claude, "codex": migrate.Codex}
	return &cobra.Command{
		Use:   "import claude|codex FILE",
		Short: "Make a policy of what another tool allows",
		Long: `Read the permissions of Claude Code (settings.json) or Codex's execpolicy rules, and print
a policy for the current directory that allows what they allow of plain commands, and never
more. What can't be said exactly is left out and listed on standard error. Nothing is written.`,
		Example: "  paddock policy import claude .claude/settings.json > policy.yaml",
		Args:    desk.Wants(2, 2, "claude or codex, and a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			read := readers[args[0]]
			if read == nil {
				return desk.Usage("there is no import of "+desk.Quote(args[0]), "want claude or codex")
			}
			here, err := d.Here()
			if err != nil {
				return err
			}
			path := d.Absolute(args[1])
			data, err := files.Read(path)
			if errors.Is(err, fs.ErrNotExist) {
				return desk.Usage("there is no file "+desk.Plain(path), "")
			}
			if err != nil {
				return err
			}
			m, err := read(data)
			if err != nil {
				return desk.Usage(desk.Plain(path)+": "+desk.Plain(err.Error()), "nothing was read")
			}
			text := m.Policy(files.Real(here), files.Program)
			if _, err := policy.Load("policy.yaml", text); err != nil {
				return fmt.Errorf("bug: the import isn't a valid policy, please report it: %w", err)
			}
			if m.Notes == nil {
				m.Notes = []string{}
			}
			if d.JSON {
				return d.Object(struct {
					File  string   `json:"file"`
					Notes []string `json:"notes"`
					Text  string   `json:"text"`
				}{path, m.Notes, string(text)})
			}
			for _, note := range m.Notes {
				d.Say("note", note)
			}
			_, err = d.Out.Write(text)
			return err
		},
	}
}
