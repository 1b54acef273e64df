package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/serving"
	"paddock/cmd/paddock/internal/desk/states"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/executor/stages"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/settings"
)

// openAccounts opens who may log in in the build of the server; elsewhere it is nil, since
// the drivers of databases would cost every command that is typed.
var openAccounts func(ctx context.Context, c people.Config) (people.Accounts, error)

// accountsHere opens those of the state directory for commands; other programs become
// the server's for it.
func accountsHere(d *desk.Desk) people.Opener {
	return people.Here(d, func(ctx context.Context) (people.Accounts, error) {
		s, err := conf.Read(d, "", nil)
		if err != nil {
			return nil, err
		}
		if openAccounts == nil {
			return nil, becomeServer(d)
		}
		state := d.StateDir(d.State)
		if _, err := os.Stat(filepath.Join(state, "server.db")); err != nil && s.Postgres == "" {
			return nil, desk.Usage("there are no accounts in "+desk.Plain(state), "paddock serve makes them when it starts; --state names another directory, --server a server elsewhere")
		}
		return openAccounts(ctx, people.Config{State: state, Postgres: s.Postgres, Accept: s.Accept, Secure: s.Secure(), Now: d.Now, Providers: conf.Providers(s), Origin: s.PublicURL})
	})
}

// copyDatabase and renewDatabase are set where openAccounts is.
var copyDatabase, renewDatabase func(ctx context.Context, from, to string) error

// databases is what the commands about the state directory know of the server's.
func databases(d *desk.Desk) states.Server {
	return states.Server{Copy: copyDatabase, Renew: renewDatabase, Become: func() error { return becomeServer(d) }, Version: thisVersion().Version}
}

// openQueue opens the queue of a worker, in the same build.
var openQueue func(ctx context.Context, file string) (crew.Queue, crew.Hints, error)

// warmForServer is how many supervisors wait for the next commands.
const warmForServer = 2

func serveCommand(d *desk.Desk) *cobra.Command {
	var config, address string
	var idle bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve people and programs over HTTP",
		Long: `Serve the HTTP API and a small page, by default to this machine alone. Runs are
started under the policy that applies here, as at every other door, and go on when
the server ends.

The server is a program of its own, paddock-server beside this one. As long as there
is only the first admin and he has no other way in, it prints a link to log in with,
good once and for an hour. Only an address with TLS, or behind a proxy that is named as trusted, may be reached from
other machines. docs/server.md has the configuration file.`,
		Example: `  paddock serve
  paddock serve --listen 127.0.0.1:8080
  paddock serve --config /etc/paddock/server.yaml`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := map[string]string{}
			if cmd.Flags().Changed("listen") {
				flags["listen"] = address
			}
			if idle {
				flags["worker"] = "none"
			}
			s, err := conf.Read(d, config, flags)
			if err != nil {
				return err
			}
			if openAccounts == nil {
				return becomeServer(d)
			}
			return serving.Serve(cmd.Context(), d, s, servingRig(d))
		},
	}
	cmd.Flags().StringVar(&address, "listen", settings.DefaultListen, "`ADDRESS` to listen on")
	cmd.Flags().BoolVar(&idle, "no-worker", false, "only queue runs, for workers elsewhere")
	conf.Flag(cmd, &config)
	return cmd
}

// workerRig is what paddock worker needs of this program.
func workerRig(d *desk.Desk) crew.Rig {
	return crew.Rig{
		Become: func() error { return becomeServer(d) }, Open: openQueue, Version: thisVersion().Version,
		House: func(ctx context.Context) (*executor.Executor, error) {
			return workshop(ctx, d, d.State, source(d), warmForServer)
		},
	}
}

// becomeServer goes on as the server's program, with the same words. What is wrong with
// them was said before.
func becomeServer(d *desk.Desk) error {
	handed := 0
	if l, _ := d.Env("LISTEN_PID"); l == strconv.Itoa(os.Getpid()) {
		handed = 1 // more than one is refused there
	}
	if err := stages.BecomeServer(os.Args[1:], os.Environ(), handed); err != nil {
		return desk.Usage(err.Error(), "")
	}
	return nil
}

// servingRig is what a server needs of this program.
func servingRig(d *desk.Desk) serving.Rig {
	v, policies := thisVersion(), source(d)
	return serving.Rig{
		Version: v.Version, Build: httpapi.Build{Revision: v.Revision, Modified: v.Modified, Go: v.Go, Platform: v.Platform},
		Policies: policies, Accounts: openAccounts,
		House: func(ctx context.Context) (*executor.Executor, error) {
			return workshop(ctx, d, d.State, policies, warmForServer)
		},
		Tools: func(rooms *app.App) { serveTools(d, rooms) },
	}
}
