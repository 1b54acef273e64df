// Package audits has the commands that look at the journal and at what can be
// proved by it.
//
// # Limits
//
// What is whole and what is wrong is said by the verbs and nowhere here.
package audits

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/journal"
	"paddock/internal/journal/sign"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Commands returns audit, with those below it, and verify.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	cmd := d.Group(&cobra.Command{
		Use:   "audit",
		Short: "Read and verify the journal",
		Long: `The journal tells of every start, end, refusal and kill in the state directory, in
lines that are chained by their digests. Keep what audit head or audit checkpoint
prints on another machine: then nothing before it can be changed or taken away
without audit verify finding it.`,
	})
	cmd.AddCommand(d.listCommand(), d.headCommand(), d.verifyCommand(), d.checkpointCommand(), d.scheduleCommand(), d.exportCommand(), d.keyCommand())
	return []*cobra.Command{cmd, d.runCommand()}
}

// with opens the evidence of the state directory and closes it again.
func (d commands) with(f func(e *evidence.Evidence) error) error {
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place where a journal could be", "set HOME, or name a directory with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return err
	}
	return errors.Join(f(e), e.Close())
}

// against are the flags that say what to verify against.
type against struct{ heads, keys, archive []string }

func (a *against) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.keys, "key", nil, "public key `FILE` of who signs checkpoints (default: the one beside the journal)")
	cmd.Flags().StringArrayVar(&a.archive, "archive", nil, "`DIR` to which older segments were moved")
}

// read turns the flags into values.
func (d commands) read(a against) (evidence.Against, error) {
	var all evidence.Against
	for _, dir := range a.archive {
		all.Archive = append(all.Archive, d.Absolute(dir))
	}
	for _, file := range a.keys {
		key, err := sign.LoadPublic(d.Absolute(file))
		if err != nil {
			return all, desk.Usage(err.Error(), "paddock audit key prints the public key")
		}
		all.Keys = append(all.Keys, key)
	}
	for _, saved := range a.heads {
		if err := d.saved(&all, saved); err != nil {
			return all, err
		}
	}
	return all, nil
}

const mostSaved = 1 << 20

// saved reads a head, or a file of heads, or of a signed checkpoint.
func (d commands) saved(all *evidence.Against, word string) error {
	if head, err := journal.ParseHead(word); err == nil {
		all.Heads = append(all.Heads, head)
		return nil
	}
	file, err := os.Open(d.Absolute(word))
	if err != nil {
		return desk.Usage(fmt.Sprintf("%s is neither a head nor a file: %v", desk.Quote(word), err), "give the line that paddock audit head printed, in quotes, or a file with such lines or a checkpoint")
	}
	text, err := io.ReadAll(io.LimitReader(file, mostSaved))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if strings.HasPrefix(string(text), journal.Origin) {
		all.Checkpoints = append(all.Checkpoints, string(text))
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		head, err := journal.ParseHead(line)
		if err != nil {
			return desk.Usage(desk.Plain(word)+": "+err.Error(), "")
		}
		all.Heads = append(all.Heads, head)
	}
	return nil
}

// answer is the status of a question whose answer may be no.
func answer(yes bool) error {
	if yes {
		return nil
	}
	return desk.ExitStatus(desk.ExitNo)
}

func (d commands) runID(word string) (paddock.RunID, error) {
	if word == "" {
		return "", nil
	}
	return desk.RunID(word)
}
