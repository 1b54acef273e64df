// Package printed has git started in somebody's name, and reads what it prints.
//
// # Limits
//
// It starts nothing: it asks the executor, which decides, contains and records. Which words
// git gets is for who asks.
package printed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"paddock"
	"paddock/internal/git/parse"
)

// Most bounds what is read of git's output, in bytes, and what is shown of its complaints, in
// characters.
const (
	Most       = 8 << 20
	MostStderr = 600
)

// Executor is what is needed of the one that starts programs.
type Executor interface {
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	// StartBeside is Start of one of two runs of one question: that there is no room for both is no refusal of who asks.
	StartBeside(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Wait(ctx context.Context, id paddock.RunID) (paddock.Run, error)
	Follow(ctx context.Context, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error
	Seen(p paddock.Principal, id paddock.RunID) error
}

// An Asker asks git in the name of who makes the request, which has all but the words.
type Asker struct {
	Exec    Executor
	Request paddock.Request
	// Beside has runs started beside others of the same question.
	Beside bool
}

// Start starts one command. It reads stdin, if there is any.
func (a Asker) Start(ctx context.Context, argv []string, label, stdin string) (paddock.Run, error) {
	a.Request.Command.Argv, a.Request.Command.Label = argv, label
	if stdin != "" {
		a.Request.Command.Stdin.Text = &stdin
	}
	if a.Beside {
		return a.Exec.StartBeside(ctx, a.Request)
	}
	return a.Exec.Start(ctx, a.Request)
}

// Step runs a command that only prepares an answer, and returns what it printed
// and its status.
func (a Asker) Step(ctx context.Context, argv []string, label string) (stdout []byte, status int, run paddock.Run, err error) {
	run, err = a.Start(ctx, argv, label, "")
	if err == nil {
		run, err = a.Exec.Wait(ctx, run.ID)
	}
	if err != nil {
		return nil, 0, run, err
	}
	if err := a.Exec.Seen(a.Request.Principal, run.ID); err != nil {
		return nil, 0, run, err
	}
	status, ok := parse.Exited(run)
	if !ok {
		return nil, 0, run, a.Broken(ctx, run)
	}
	stdout, cut, err := a.Read(ctx, run, paddock.Stdout, Most)
	if err == nil && cut {
		err = paddock.Refused(paddock.RepositoryRefused, "The repository says more of itself than can be read (run %s).", run.ID)
	}
	return stdout, status, run, err
}

// Commits runs a command that prints the ids of commits, one a line; there are none where it fails.
func (a Asker) Commits(ctx context.Context, argv []string) ([]string, error) {
	stdout, status, _, err := a.Step(ctx, argv, "git: what revisions name")
	if err != nil || status != 0 {
		return nil, err
	}
	return parse.IDs(stdout), nil
}

// Commit runs a command that prints the id of one commit; "" if it says that there is none.
func (a Asker) Commit(ctx context.Context, argv []string) (string, error) {
	stdout, status, run, err := a.Step(ctx, argv, "git: what a revision names")
	switch {
	case err != nil:
		return "", err
	case status == 0:
		return parse.ID(stdout)
	case status == 1 && len(stdout) == 0:
		return "", nil
	}
	return "", a.Broken(ctx, run)
}

// Directories runs a command that lists files of the index, and returns the directories that they are in.
func (a Asker) Directories(ctx context.Context, argv []string) ([]string, error) {
	run, err := a.Start(ctx, argv, "git: where the files are that it tracks", "")
	if err == nil {
		run, err = a.Exec.Wait(ctx, run.ID)
	}
	if err == nil {
		err = a.Exec.Seen(a.Request.Principal, run.ID)
	}
	if err != nil {
		return nil, err
	}
	var d parse.Directories
	if run.State != paddock.OutputLimit {
		if status, ok := parse.Exited(run); !ok || status != 0 {
			return nil, a.Broken(ctx, run)
		}
		err = a.Exec.Follow(ctx, run.ID, paddock.Stdout, 0, &d)
	}
	if parse.Lacking(run) || errors.Is(err, parse.ErrFull) {
		r := paddock.Refused(paddock.RepositoryRefused, "Git tracks more files than can be looked at before the working tree is read (run %s).", run.ID)
		r.Hint = "Ask about a revision, as HEAD, or give a path."
		return nil, r
	}
	return d.All, err
}

// Broken refuses a repository that git can't read. That git didn't start is no fault of the
// repository's.
func (a Asker) Broken(ctx context.Context, run paddock.Run) error {
	if run.State == paddock.FailedToStart {
		return fmt.Errorf("run %s: %s", run.ID, Ended(run))
	}
	stderr, _, err := a.Read(ctx, run, paddock.Stderr, MostStderr)
	if err != nil {
		return err
	}
	why := string(run.State)
	if len(bytes.TrimSpace(stderr)) > 0 {
		why += ": " + parse.Visible(bytes.TrimSpace(stderr), MostStderr)
	}
	return paddock.Refused(paddock.RepositoryRefused, "Git can't read the repository (run %s, %s)", run.ID, why)
}

// Ended says why a run didn't end by itself.
func Ended(run paddock.Run) string {
	switch {
	case run.State == paddock.TimedOut:
		return fmt.Sprintf("Git was ended after %s; what it had printed until then is kept", time.Duration(run.Limits.Timeout))
	case run.State == paddock.FailedToStart && run.Outcome != nil:
		return fmt.Sprintf("Git didn't start (%s: %s)", run.Outcome.Reason.Step, run.Outcome.Reason.Detail)
	}
	return fmt.Sprintf("Git didn't end by itself (%s)", run.State)
}

// Read returns the beginning of a stream of a settled run.
func (a Asker) Read(ctx context.Context, run paddock.Run, stream paddock.Stream, most int) (text []byte, cut bool, err error) {
	if stream == paddock.Stderr && run.Stderr.Bytes == 0 {
		return nil, parse.Lacking(run), nil // as nearly always: git complained of nothing
	}
	b := parse.Beginning{Most: most}
	err = a.Exec.Follow(ctx, run.ID, stream, 0, &b)
	if errors.Is(err, parse.ErrFull) {
		return b.Bytes(), true, nil
	}
	return b.Bytes(), parse.Lacking(run), err
}
