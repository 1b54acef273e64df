package runs

import (
	"context"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/runs/keyboard"
	"paddock/cmd/paddock/internal/desk/runs/treed"
	"paddock/internal/executor/stages"
)

func (d commands) runCommand() *cobra.Command {
	var f desk.Flags
	tty, rev := false, ""
	cmd := &cobra.Command{
		Use:   "run [flags] [--] ARGV…",
		Short: "Run a command and stream what it prints",
		Long: `Run a command under the policy that applies here. Its output is streamed as it
comes and kept; its status is the exit status. There is no shell: each word
reaches the program as it is. A terminal gets the output cleaned of what terminals
obey, except for colours and for going back in a line, unless --raw is given.

INT, TERM and HUP ask the run to end; a second one kills it. When paddock itself
is gone, so is the run, unless it was started with --detach. A closed standard
output ends the streaming, not the run.

With --tty the program has a terminal of its own, where the policy says pty: true, and
who runs it sits there as paddock attach tells.

With --worktree it runs in a new worktree of the repository that is here, or in
--workspace: a clone at that branch, tag or whole id of a commit, made before by runs of
its own if the policy allows them. It stays; paddock worktree lists and tidies such.`,
		Example: `  paddock run -- go test ./...
  paddock run -d --label nightly --timeout 30m -- make build
  paddock run --worktree main -- make test
  paddock run --stdin-run RUN -- wc -l`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, argv []string) error {
			req, err := d.Request(cmd, f, argv)
			if err == nil {
				err = desk.NotEmpty(cmd, "worktree")
			}
			if err != nil {
				return err
			}
			if tty {
				if d.JSON && !f.Detach {
					return desk.Usage("--tty shows a terminal, which is no JSON", "start it with --detach, too")
				}
				size := keyboard.Size(d.Desk)
				req.Command.Terminal, req.Tied = &size, false // who leaves doesn't end it
			}
			d.Expect = stages.ExpectTied
			if f.Detach || tty {
				d.Expect = stages.ExpectFree
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				return d.run(cmd.Context(), treed.In(v, rev), req, f, tty)
			})
		},
	}
	d.RequestFlags(cmd, &f)
	cmd.Flags().BoolVarP(&f.Detach, "detach", "d", false, "print the run's id at once and let it go on")
	cmd.Flags().BoolVarP(&tty, "tty", "t", false, "give the program a terminal, and sit there; Ctrl-P Ctrl-Q leave, and it goes on")
	cmd.Flags().StringVar(&rev, "worktree", "", "run in a new worktree at `REV`, a branch, a tag or the whole id of a commit")
	cmd.Flags().BoolVar(&f.Raw, "raw", false, "pass bytes on as they are, also to a terminal")
	cmd.Flags().StringVar(&f.Key, "key", "", "idempotency `KEY`: asking again with it returns the run of the first time")
	return cmd
}

func (d commands) run(ctx context.Context, v desk.Verbs, req paddock.Request, f desk.Flags, tty bool) error {
	switch {
	case f.Detach:
		return d.detached(ctx, v, req)
	case tty:
		return d.onTerminal(ctx, v, req, f.Raw)
	}
	return d.foreground(ctx, v, req, f.Raw)
}
