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

// commands are the commands at a desk.
type commands struct {
	*desk.Desk
	// file reads the policy named, or else the one that applies.
	file func(args []string) (path string, data []byte, err error)
}

// Commands returns the commands. File reads the policy named by the words of a
// command, or else the one that applies here.
func Commands(at *desk.Desk, file func(args []string) (string, []byte, error)) []*cobra.Command {
	d := commands{at, file}
	return []*cobra.Command{d.lintCommand()}
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
