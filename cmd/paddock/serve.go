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
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/executor"
	"paddock/internal/executor/stages"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/httpapi/entry/gate/workers"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/listen"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
	"paddock/internal/relay"
	"paddock/internal/web"
)

// Accounts are who may log in.
type accounts interface {
	gate.Gate
	narrow.Workspaces
	// Routes are those by which accounts are kept.
	Routes(in *entry.Entrance)
	// FirstLink is the code by which the first admin logs in, as long as he has no other
	// way; else it is empty.
	FirstLink(ctx context.Context) (code string, until time.Time, err error)
	Ping(ctx context.Context) error
	// Rows are what is kept of runs and workers, Hints what calls for news of them; nil
	// where nobody else has any.
	Rows() dispatch.Store
	Hints() crew.Hints
	// Through has what is cloned into workspaces started by h.
	Through(h workspaces.House)
	// Forget removes what was over long ago.
	Forget(ctx context.Context) error
	Close() error
}

// An accountsConfig says which accounts are opened.
type accountsConfig struct {
	state, postgres string
	secure          bool
	now             func() time.Time
	other           gate.Gate
	hub             *relay.Hub
	roots           []string // in which workspaces are made
}

// openAccounts opens them in the build of the server; elsewhere it is nil, since the
// drivers of databases would cost every command that is typed.
var openAccounts func(ctx context.Context, c accountsConfig) (accounts, error)

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

// serveHTTP serves until we are asked to end.
func serveHTTP(ctx context.Context, d *desk.Desk, s settings.Settings) (err error) {
	ctx, cancel := crew.UntilAsked(ctx, d)
	defer cancel()
	operator, err := conf.Operator(s)
	if err != nil {
		return err
	}
	l, err := sd.Listener(d.Env, os.Getpid())
	if l == nil && err == nil {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	}
	if err != nil {
		return desk.Usage("can't listen: "+err.Error(), "--listen names another address; port 0 takes a free one")
	}
	if err := conf.Exposed(s, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	policies := source(d)
	exec, err := workshop(ctx, d, d.State, policies, warmForServer)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	rooms := app.New(exec)
	defer func() { err = errors.Join(err, rooms.Close()) }()
	log := conf.Logger(d, s)
	links := relay.NewHub(ctx, 0)
	defer links.Close()
	people, err := openAccounts(ctx, accountsConfig{
		state: d.StateDir(d.State), postgres: s.Postgres, secure: s.Secure(), now: d.Now, other: operator, hub: links, roots: s.Workspaces,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, people.Close()) }()
	queue, err := crew.Serve(ctx, d, crew.Server{Executor: exec, App: rooms, Store: people.Rows(), Hints: people.Hints(), Idle: s.NoWorker, Runs: s.Runs, Elsewhere: crew.Linked(links), Version: thisVersion().Version})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer queue.Close()
	people.Through(queue)
	door, err := newDoor(ctx, d, s, queue, policies, people, links, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer door.Close()
	code, until, err := people.FirstLink(ctx)
	if err = errors.Join(err, people.Forget(ctx)); err != nil {
		return errors.Join(err, l.Close())
	}
	conf.Welcome(d, s, l.Addr(), code, until)
	if err := sd.Notify(ctx, d.Env, "READY=1"); err != nil {
		warn(d, err)
	}
	return listen.Serve(ctx, l, listen.Options{
		Handler: door, Connections: s.Connections, Cert: s.Cert, Key: s.Key, Log: log, Now: d.Now,
		Ending: func() {
			if err := sd.Notify(context.WithoutCancel(ctx), d.Env, "STOPPING=1"); err != nil {
				warn(d, err)
			}
			door.Close()
			links.Close()
		},
	})
}

func newDoor(ctx context.Context, d *desk.Desk, s settings.Settings, rooms *dispatch.Service, policies *lookup.Source, people accounts, links *relay.Hub, log *slog.Logger) (*httpapi.Door, error) {
	public := strings.TrimSuffix(s.PublicURL, "/")
	var origins []string
	if public != "" {
		origins = []string{public}
	}
	return httpapi.New(ctx, httpapi.Config{
		App: rooms, Gate: people, More: func(in *entry.Entrance) { people.Routes(in); workers.Routes(in, rooms.Workers, d.Now) }, Workers: links.Connected, Workspaces: people,
		Limits: entry.Limits(s.Limits), Version: thisVersion().Version, Pages: web.Handler,
		Shield: shield.Config{Hosts: s.Names(), Loopback: s.Loopback(), Origins: origins, Secure: s.Secure(), Proxies: s.Proxies, Log: log, Now: d.Now},
		Policy: func() (httpapi.Policy, error) {
			p, err := policies.Load()
			if err != nil {
				return httpapi.Policy{}, err
			}
			return httpapi.Policy{Digest: p.Digest(), File: p.Name(), Roots: p.Roots(), Words: p.Words(), Text: string(p.Text())}, nil
		},
		Ready: func(ctx context.Context) []httpapi.Check {
			_, policyErr := policies.Load()
			_, stateErr := rooms.List(ctx, d.Operator(), app.Filter{Limit: 1})
			var some *app.Unreadable
			if errors.As(stateErr, &some) {
				stateErr = nil // of some runs; the others are there
			}
			return []httpapi.Check{check("policy", policyErr), check("state", stateErr), check("accounts", people.Ping(ctx))}
		},
	})
}

func check(name string, err error) httpapi.Check {
	if err != nil {
		return httpapi.Check{Name: name, Detail: err.Error()}
	}
	return httpapi.Check{Name: name, OK: true}
}
