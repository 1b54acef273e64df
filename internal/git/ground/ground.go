// Package ground has what a policy says of a question to git, before the repository is looked at.
//
// # Limits
//
// It looks at no repository, and starts and records nothing. What it says is of the moment: the
// run that is asked for then is judged again.
package ground

import (
	"context"
	"os"
	"path/filepath"

	"paddock"
)

// Executor is what is needed of the one that judges.
type Executor interface {
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
}

// A Ground is where git may be asked.
type Ground struct {
	Policy paddock.Digest // which was asked
	// Root is the policy's, and Store is where the own files of the repository are that
	// the policy has it to be a directory of; empty for none.
	Root, Store string
	Other       bool // files have other owners in a run than they have here
	Free        bool // nothing contains a run
}

// Of returns the policy's root that req's directory is, which has no words. It is asked as a command
// would be: whoever may not ask git anything is refused before anything is looked at.
func Of(ctx context.Context, exec Executor, req paddock.Request) (g Ground, err error) {
	req.Command.Argv = []string{"git", "--version"}
	d, err := exec.Explain(ctx, req)
	if err != nil {
		return g, err
	}
	g.Policy = d.PolicyDigest
	if refusal := d.Refusal(); refusal != nil {
		return g, refusal
	}
	granted := d.Grant()
	if real, err := filepath.EvalSymlinks(granted.Root); err != nil || real != granted.Dir {
		refusal := paddock.Refused(paddock.PathOutsideRoot, "%q is inside of the git root %s and not one itself.", req.Command.Dir, granted.Root)
		refusal.Gate, refusal.Hint = "", "Name the root as the policy has it, or none for the first, and give the rest as the path."
		return g, refusal
	}
	if read := granted.Contain.Read; len(read) > 0 {
		g.Store = read[0]
	}
	g.Root, g.Free = granted.Root, granted.Contain.Level == paddock.Off
	g.Other = granted.Contain.Level == paddock.Full && (os.Geteuid() == 0 || granted.Contain.Account != nil)
	return g, nil
}
