//go:build !quick || !linux

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/doctor"
	"paddock/cmd/paddock/internal/desk/doorway"
	"paddock/cmd/paddock/internal/desk/doorway/remote"
	"paddock/cmd/paddock/internal/desk/early"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/cmd/paddock/internal/desk/states"
	"paddock/internal/app"
	"paddock/internal/app/used"
	"paddock/internal/dispatch"
	"paddock/internal/executor"
	"paddock/internal/executor/stages"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/agents"
	"paddock/internal/httpapi/entry/gate/profile"
	"paddock/internal/httpapi/listen"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
	"paddock/internal/relay"
	"paddock/internal/trace/wanted"
	"paddock/internal/web"
)

// openAccounts opens who may log in in the build of the server; elsewhere it is nil, since
// the drivers of databases would cost every command that is typed.
var openAccounts func(ctx context.Context, c people.Config) (people.Accounts, error)

// accountsHere opens those of the state directory for commands; other programs become
// the server's for it.
func accountsHere(d *desk.Desk) people.Opener {
	return people.Here(d, func(ctx context.Context) (people.Accounts, error) { return accountsOf(ctx, d, "") })
}

// accountsOf opens those of a configuration.
func accountsOf(ctx context.Context, d *desk.Desk, config string) (people.Accounts, error) {
	if openAccounts == nil {
		return nil, becomeServer(d)
	}
	s, err := conf.Kept(d, config)
	if err != nil {
		return nil, err
	}
	return openAccounts(ctx, people.Config{State: d.StateDir(d.State), Postgres: s.Postgres, Accept: s.Accept, Secure: s.Secure(), Now: d.Now, Providers: conf.Providers(s), Origin: s.PublicURL, Hub: relay.NewHub(ctx, 0)})
}

// copyDatabase and renewDatabase are set where openAccounts is.
var copyDatabase, renewDatabase func(ctx context.Context, from, to string) error

// databases is what the commands about the state directory know of the server's.
func databases(d *desk.Desk) states.Server {
	s := states.Server{Copy: copyDatabase, Renew: renewDatabase, Become: func() error { return becomeServer(d) }, Flag: conf.Flag, Version: thisVersion().Version}
	if openAccounts == nil {
		return s
	}
	s.Rows = func(ctx context.Context, config string) (states.Rows, error) {
		worker, err := crew.WorkerOf(d.StateDir(d.State))
		if err != nil {
			return states.Rows{}, err
		}
		all, err := accountsOf(ctx, d, config)
		if err != nil {
			return states.Rows{}, err
		}
		return states.Rows{Runs: all.Rows(), Worker: worker, Alone: all.Hints() == nil, Close: all.Close}, nil
	}
	return s
}

// openTraces begins to send traces, in the same build.
var openTraces wanted.Open

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
			return serveHTTP(cmd.Context(), d, s)
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
		Become: func() error { return becomeServer(d) }, Open: openQueue, Traces: openTraces, Version: thisVersion().Version,
		House: func(ctx context.Context, apart ...string) (*executor.Executor, error) {
			return workshop(ctx, d, d.State, source(d), warmForServer, apart...)
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

// serveHTTP serves until we are asked to end.
func serveHTTP(ctx context.Context, d *desk.Desk, s settings.Settings) (err error) {
	ctx, cancel := crew.UntilAsked(ctx, d)
	defer cancel()
	operator, err := conf.Operator(s)
	if err != nil {
		return err
	}
	l, err := conf.Listen(ctx, d, s)
	if err != nil {
		return err
	}
	policies := source(d)
	exec, err := workshop(ctx, d, d.State, policies, supervisors(s), s.Workspaces...)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	rooms := app.New(exec)
	defer func() { err = errors.Join(err, rooms.Close()) }()
	log := conf.Logger(d, s)
	traces, err := openTraces(ctx, s.Traces, crew.Sender(d, "paddock-server", thisVersion().Version))
	if err != nil {
		return errors.Join(desk.Usage(err.Error(), "docs/operations.md tells of traces"), l.Close())
	}
	defer traces.Close()
	workers := relay.NewHub(ctx, 0)
	defer workers.Close()
	accounts := people.Config{
		State: d.StateDir(d.State), Postgres: s.Postgres, Accept: s.Accept, Secure: s.Secure(), Now: d.Now, Other: operator,
		Origin: conf.Origin(s, l.Addr()), Providers: conf.Providers(s), Hub: workers, Roots: s.Workspaces, Serving: s.Digest(), Settings: s.Words(), Warn: func(err error) { warn(d, err) },
	}
	all, err := early.Open(ctx, waiting(ctx, d, s, l, log), func(ctx context.Context) (people.Accounts, error) { return openAccounts(ctx, accounts) })
	if err != nil {
		return errors.Join(early.Unless(ctx, err), l.Close())
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	defer people.Tidy(ctx, all, log)()
	queue, err := crew.Serve(ctx, d, crew.Server{Executor: exec, App: rooms, Store: all.Rows(), Hints: all.Hints(), Idle: s.NoWorker, Runs: s.Runs, PerAccount: s.PerAccount, PerWorkspace: s.PerWorkspace, Spaces: s.Workspaces, Times: s.Leases, Elsewhere: crew.Linked(workers), Gives: workers.Gives, Version: thisVersion().Version, Traces: traces.Tracer})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer queue.Close()
	all.Through(queue)
	serveTools(d, rooms)
	tools := remote.New(ctx, d, thisVersion().Version, judging(s, policies), queue, all, conf.MCP(s), log)
	defer tools.Close()
	door, err := newDoor(ctx, d, s, behind{rooms, queue, policies, all, tools, workers, traces}, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer door.Close()
	if err := welcome(ctx, d, s, all, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	return listen.Serve(ctx, l, listen.Options{
		Handler: door, Connections: s.Connections, Cert: s.Cert, Key: s.Key, Log: log, Now: d.Now,
		Ending: func() { stopping(context.WithoutCancel(ctx), d, door, workers, tools) },
	})
}

// waiting is how a server waits for its database when it begins.
func waiting(ctx context.Context, d *desk.Desk, s settings.Settings, l net.Listener, log *slog.Logger) early.Config {
	c := early.Config{
		Listener: l, Serve: listen.Options{Connections: s.Connections, Cert: s.Cert, Key: s.Key, Log: log, Now: d.Now},
		Shield: conf.Shield(d, s, log), Warn: func(err error) { warn(d, err) },
		Tell: func(next time.Duration) { // a service manager that waits for us goes on doing so
			notify(ctx, d, "STATUS=waiting for the database\nEXTEND_TIMEOUT_USEC="+strconv.FormatInt((next+time.Minute).Microseconds(), 10))
		},
	}
	if s.Postgres != "" {
		c.Wait = s.Wait
	}
	return c
}

// welcome says that we are ready, when nothing is left to do before.
func welcome(ctx context.Context, d *desk.Desk, s settings.Settings, all people.Accounts, at net.Addr) error {
	code, until, err := all.FirstLink(ctx)
	if err = errors.Join(err, all.Forget(ctx), crew.Renounce(d, s.NoWorker)); err == nil {
		conf.Welcome(d, s, at, code, until)
		notify(ctx, d, "READY=1")
	}
	return err
}

// supervisors are how many wait for commands.
func supervisors(s settings.Settings) int {
	if s.NoWorker {
		return startsNothing
	}
	return warmForServer
}

// judging are the policies by which tools are judged here: of a server that only queues
// none, since workers judge by theirs.
func judging(s settings.Settings, here *lookup.Source) doorway.Policies {
	if s.NoWorker {
		return nil
	}
	return here
}

// behind is what stands behind the door.
type behind struct {
	rooms    *app.App
	queue    *dispatch.Service
	policies *lookup.Source
	people   people.Accounts
	tools    agents.Server
	workers  *relay.Hub
	traces   wanted.Traces
}

func newDoor(ctx context.Context, d *desk.Desk, s settings.Settings, h behind, log *slog.Logger) (*httpapi.Door, error) {
	public := strings.TrimSuffix(s.PublicURL, "/")
	guard := conf.Shield(d, s, log)
	guard.Traces = h.traces.Tracer
	v := thisVersion()
	return httpapi.New(ctx, httpapi.Config{
		App: h.queue, Gate: h.people, Vouch: h.people.Vouch, Workers: h.workers.Connected, Workspaces: h.people, Limits: entry.Limits(s.Limits), Version: v.Version, Pages: web.Handler,
		More: conf.Routes(d, h.queue, h.people, used.House{State: d.StateDir(d.State), Policy: h.policies, Now: d.Now}, func(in *entry.Entrance) {
			h.people.Routes(in)
			profile.Routes(in, s.Pprof)
			agents.Routes(in, h.tools, agents.Config{Public: public, Secure: s.Secure(), Servers: conf.Servers(s)})
		}),
		Build:   httpapi.Build{Revision: v.Revision, Modified: v.Modified, Go: v.Go, Platform: v.Platform},
		Numbers: conf.Numbers(d.StateDir(d.State), h.traces.Counts),
		Shield:  guard,
		Policy: func() (httpapi.Policy, error) {
			p, err := h.policies.Load()
			if err != nil {
				return httpapi.Policy{}, err
			}
			now := httpapi.Policy{Digest: p.Digest(), File: p.Name(), Roots: p.Roots(), Words: p.Words(), Text: string(p.Text())}
			if trouble := h.policies.Trouble(); trouble != nil {
				now.Problem = trouble.Problem
			}
			return now, nil
		},
		Ready: doctor.Ready(ctx, d, doctor.House{Idle: s.NoWorker, Policy: h.policies.Load, List: h.rooms.List, Accounts: h.people.Ping}),
	})
}

// stopping ends what would go on for as long as somebody listens.
func stopping(ctx context.Context, d *desk.Desk, all ...interface{ Close() }) {
	notify(ctx, d, "STOPPING=1")
	for _, one := range all {
		one.Close()
	}
}

// notify tells the service manager how we are.
func notify(ctx context.Context, d *desk.Desk, state string) {
	if err := sd.Notify(ctx, d.Env, state); err != nil {
		warn(d, err)
	}
}
