// Package inspect has the commands that treat a policy as a thing to be looked
// over, compared, tested and laid out.
//
// # Limits
//
// What there is to say of a policy is said in the rooms below internal/review; here
// files are found, the machine is looked at, and answers are printed.
package inspect

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
)

// Files is how policies and what they name are found and written.
type Files struct {
	// Policy reads the policy named, or else the one that applies.
	Policy func(args []string) (path string, data []byte, err error)
	// Real follows links, as far as a path exists.
	Real func(path string) string
	// RootOwns reports whether a file belongs to root.
	RootOwns func(path string) bool
	// Program returns the path of a program that is called so; empty if there is none.
	Program func(word string) string
	// Agree asks a person a question; otherwise says how else to agree.
	Agree func(question, otherwise string, yes bool) error
	// Rewrite puts text in the place of a file that still holds what was read.
	Rewrite func(path string, read, text []byte) error
}

// commands are the commands at a desk.
type commands struct {
	*desk.Desk
	files Files
}

// Commands returns the commands.
func Commands(at *desk.Desk, files Files) []*cobra.Command {
	d := commands{at, files}
	return []*cobra.Command{d.lintCommand(), d.diffCommand(), d.testCommand(), d.fmtCommand(), d.schemaCommand(), d.learnCommand()}
}

// broken is what a command says of a policy that doesn't load; hint says what
// wasn't done.
func broken(path string, err error, undone string) error {
	var all *policy.Errors
	if errors.As(err, &all) {
		return desk.Usage(fmt.Sprintf("%s isn't a valid policy: %s", desk.Plain(path), desk.Plain(all.List[0].Message)),
			undone+"; paddock policy check "+desk.Quote(path)+" lists every error")
	}
	return err
}
